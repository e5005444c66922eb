"""Sensitive values in words: where they are, of what kind, and the words without them. See docs/hygiene.md."""
