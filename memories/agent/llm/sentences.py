"""What the user is told when no whole answer came.

Invariant: a sentence says what happened and what to do, and quotes nothing of what was sent or received.
"""

from __future__ import annotations

UNREADABLE = "The model answered with something that cannot be read. Try again."
BROKEN_OFF = "The model broke off in the middle of its answer. Try again."
STALLED = "The model stopped answering. Try again."
TOO_LONG = "The answer became too long and was stopped. Ask for something shorter."
REFUSED = "The model declined to answer this."
FILTERED = "The model's content filter stopped this answer."
EMPTY = "The model gave an empty answer. Try again."
ONLY_TOOLS = "The model kept calling tools and gave no answer. Try again."
CREDENTIALS = "The model endpoint refused the credentials. An administrator has to check OPENAI_API_KEY."
UNKNOWN = "The endpoint does not know the model. An administrator has to check MEMORYHUB_MODEL and OPENAI_BASE_URL."
TOO_MUCH = "This conversation is too long for the model. Start a new one; what was said is remembered."
