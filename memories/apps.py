"""The application of memories. Starting it reads nothing and starts no thread."""

from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    """Episodes, facts, playbooks, the catalog, and their recall."""

    name = "memories"
    verbose_name = "memories"
