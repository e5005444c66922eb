"""Database tools below the ORM: locks, compiled queries, SQLite files."""
