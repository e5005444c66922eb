"""Base classes and commands for `manage.py`."""
