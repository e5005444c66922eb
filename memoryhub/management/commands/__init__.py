"""Management commands of the installation, one per module."""
