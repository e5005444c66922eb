"""The environment, typed: every variable that memoryhub reads, and what is wrong with it."""

from memoryhub.env.reading import MIN_SECRET_KEY_CHARACTERS, name_of, read
from memoryhub.env.values import ARCHIVE, DATABASE_ENGINES, INDEX_NAMES, MIN_TOKEN_CHARACTERS, POSTGRESQL, SQLITE
from memoryhub.env.variables import BASE_DIR, Env

__all__ = [
    "ARCHIVE",
    "BASE_DIR",
    "DATABASE_ENGINES",
    "INDEX_NAMES",
    "MIN_SECRET_KEY_CHARACTERS",
    "MIN_TOKEN_CHARACTERS",
    "POSTGRESQL",
    "SQLITE",
    "Env",
    "name_of",
    "read",
]
