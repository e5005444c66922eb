"""Recall: from a question to the memories that answer it. One entry, `pipeline.recall`; the scoring is pure."""
