"""The settings of the tests: the project's own, read from an empty environment and a folder of their own.

What names the real parts passes through, so the same tests run on PostgreSQL and Elasticsearch (tests/real_parts).
"""

import atexit
import os
import shutil
import tempfile

from memoryhub import env as environment
from memoryhub.env.values import SQLITE

_PARTS = {
    "DATABASE_URL",
    "MEMORYHUB_RULES",
    "MEMORYHUB_BROKER_URL",
    "MEMORYHUB_SEARCH",
    "ELASTICSEARCH_URL",
    "ELASTICSEARCH_SETUP",
}
for _variable in {*map(environment.name_of, environment.Env.model_fields)} - _PARTS:
    os.environ.pop(_variable, None)

_folder = tempfile.mkdtemp(prefix="memoryhub-tests-")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
os.environ["MEMORYHUB_DATA_DIR"] = _folder
os.environ["MEMORYHUB_RECORDING"] = "inline"
os.environ["MEMORYHUB_JOBS"] = "off"
os.environ["MEMORYHUB_CONSOLIDATE"] = "off"

from memoryhub.settings import *  # noqa: E402, F403 - after the environment is in place
from memoryhub.settings import DATABASES  # noqa: E402

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # fast; nothing here is secret
WHITENOISE_AUTOREFRESH = True  # look for a file when it is asked for, not for all of them for each client of a test

if DATABASES["default"]["ENGINE"] == SQLITE:
    # A file, for threads share it as they do in production; durability is for the proofs, which start real servers.
    DATABASES["default"]["TEST"] = {"NAME": os.path.join(_folder, "test.sqlite3")}  # noqa: PTH118 - Django's type
    DATABASES["default"]["OPTIONS"]["init_command"] = "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
