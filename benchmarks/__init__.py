"""Benchmarks; each operation is timed beside its floor, the least work without memoryhub, in the same run."""

import os


def use_sqlite(folder: str, **more: str) -> None:
    """Let this process and those it starts use a throwaway site in `folder`, with these variables besides."""
    os.environ.update(
        DJANGO_SETTINGS_MODULE="memoryhub.settings",
        MEMORYHUB_ENV="development",
        MEMORYHUB_DATA_DIR=folder,
        MEMORYHUB_INDEX_DIR="",
        MEMORYHUB_SEARCH="embedded",
        DATABASE_URL="",
        **more,
    )
