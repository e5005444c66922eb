#!/usr/bin/env python
"""Django's command line for memoryhub."""

import os
import sys


def main() -> None:
    """Run one management command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
    from django.core.management import execute_from_command_line
    from django.db import OperationalError, connection

    try:
        execute_from_command_line(sys.argv)
    except OperationalError as error:
        if connection.connection is not None or "--traceback" in sys.argv:
            raise
        sys.exit(f"DATABASE_URL: there is no connection to the database. {error}")


if __name__ == "__main__":
    main()
