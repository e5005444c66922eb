"""Sensitive values in a text: their positions and kinds, and the text without them. See docs/hygiene.md."""
