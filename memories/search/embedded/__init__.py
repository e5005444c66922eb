"""The embedded search plane: one SQLite file per owner, without a server."""
