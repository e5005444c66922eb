"""The caller's own attributes of memories: metadata, and filters over attributes."""
