"""Recall: finds the memories that answer a question. The entry point is `pipeline.recall`; scoring is pure."""
