"""Examination of the offline chat: everyday messages of invented people, and expectations of each answer."""
