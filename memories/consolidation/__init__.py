"""Consolidation: from episodes to facts and playbooks."""
