"""The embedded search plane: a file for each owner, no server."""
