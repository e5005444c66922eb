"""Django's PostgreSQL backend with a cursor that sends the database scope (`memoryhub/db/scope.py`)."""
