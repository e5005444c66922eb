"""How pages of members and staff show memories: marks, times, lines."""
