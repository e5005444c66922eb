"""Settings of the tests: the project's settings with an empty environment and a temporary data folder.

Variables that select servers are kept, so the same tests run on PostgreSQL and Elasticsearch (tests/real_parts).
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

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # fast; tests have no secrets
WHITENOISE_AUTOREFRESH = True  # find files on request instead of scanning all for each test client

if DATABASES["default"]["ENGINE"] == SQLITE:
    # A file, because threads share it as in production. Durability is tested by tests/proofs, with real servers.
    DATABASES["default"]["TEST"] = {"NAME": os.path.join(_folder, "test.sqlite3")}  # noqa: PTH118 - Django's type
    DATABASES["default"]["OPTIONS"]["init_command"] = "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
