"""Each command is named after its file."""
