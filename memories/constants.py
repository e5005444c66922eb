"""Behavioural constants, each defined once with its unit and source. The recall weights are in `recall/adjust.py`."""

from __future__ import annotations

from datetime import timedelta

# Dimensions of the bundled encoder (models/minilm-l6-memory-int8-onnx/README.md). An int8 value is the float times 127.
EMBEDDING_DIMENSIONS = 384
VECTOR_SCALE = 127.0
# The place of a turn: this times the number of its session, plus its sequence there, as one sortable integer.
SESSION_STRIDE = 1 << 40

# Text limits, in characters. A message of a few pages is normal; a megabyte is a mistake or an attack.
MAX_MESSAGE_CHARACTERS = 32_000
MAX_MEMORY_CHARACTERS = 8_000
MAX_QUERY_CHARACTERS = 32_000
MAX_TITLE_CHARACTERS = 200
MAX_NOTE_CHARACTERS = 500
MAX_KEY_CHARACTERS = 100
MAX_TASK_CHARACTERS = 64
MAX_APP_CHARACTERS = 64
MAX_STEPS = 50
# Years that a time may lie in. Times at the edges of the calendar fail in some time zones, and milliseconds passed as
# seconds land far outside.
FIRST_YEAR, LAST_YEAR = 1800, 2200

# Recall: candidates per sub-query. Measured: 40 costs .005 of recall@10, 160 gains nothing.
CANDIDATES_PER_SUB_QUERY = 80
MAX_RECALL_LIMIT = 100
DEFAULT_RECALL_LIMIT = 10
# Automatic recall in a chat turn: items per recall, and tokens (counted for the model in use) for all automatic recalls
# of the turn together.
AUTOMATIC_RECALL_ITEMS = 7
AUTOMATIC_RECALL_TOKENS = 4_000
# Items reserved for facts and playbooks. In a long history many sentences resemble the question, and they must not
# crowd out the one fact that answers it.
AUTOMATIC_SETTLED_ITEMS = 2
# Recent memories of one owner that are scored with the candidates because the search plane has not indexed them yet.
TAIL_LIMIT = 256

# The agent loop: model calls in a turn, turns of history in the prompt, seconds without data before a stream times out.
MAX_AGENT_STEPS = 6
HISTORY_TURNS = 20
MODEL_TIMEOUT_SECONDS = 60.0
# After this many seconds of silence the stream sends an event, which also detects a reader who has left.
MODEL_SILENCE_SECONDS = 1.0

# A session (L1) expires this long after its last turn.
SESSION_LIFETIME = timedelta(hours=24)
# A temporary chat is deleted this long after its last turn, if it was not ended before.
TEMPORARY_LIFETIME = timedelta(hours=1)

# The outbox: how long a drainer holds its lease on entries, and how many entries it takes at once.
OUTBOX_LEASE = timedelta(seconds=30)
OUTBOX_BATCH = 256

# Pinned facts are repeated in the prompt every this many turns, so that a long conversation does not bury them.
PINNED_REFRESH_TURNS = 5
# Tokens of history in the prompt, counted for the model in use; the newest turns are kept.
HISTORY_TOKENS = 12_000
# Limits on one answer: characters, seconds for one model call, tool calls in one step.
MAX_ANSWER_CHARACTERS = 32_000
MODEL_ANSWER_SECONDS = 300.0
MAX_TOOL_CALLS_AT_ONCE = 8
# Retries of a call that failed before its first output, and the pause. A longer Retry-After than this (s) is not
# obeyed.
MODEL_RETRIES = 2
MODEL_RETRY_SECONDS = 0.5
MAX_RETRY_AFTER_SECONDS = 5.0
# Tokens of a JSON answer, at four characters a token.
MAX_JSON_ANSWER_TOKENS = MAX_ANSWER_CHARACTERS // 4
# The pinned facts in the prompt: how many, their tokens, and how many candidates they are chosen from.
MAX_PINNED_FACTS = 20
PINNED_TOKENS = 2_000
MAX_PINNED_CHOSEN_FROM = 200

# The API: rows on one page of a list, turns on one page of a transcript, ids in one list of a request.
MAX_LISTED = 100
MAX_LISTED_TURNS = 200
MAX_LINKS = 100
# The largest file of an import; memoryhub/settings.py (UPLOADS) lets it in.
MAX_IMPORT_BYTES = 8 * 1024 * 1024
# The largest export or certificate that the admin verifies; `manage.py verify_export` has no limit.
MAX_CHECKED_BYTES = 24 * 1024 * 1024
# The largest request that is passed on to a model.
MAX_PASSED_BYTES = 16 * 1024 * 1024

# Consolidation starts after this many new episodes of an owner, or once the oldest has waited this long. One run reads
# at most CONSOLIDATION_BATCH episodes.
CONSOLIDATE_EVERY = 20
CONSOLIDATE_AFTER = timedelta(hours=24)
CONSOLIDATION_BATCH = 20
# A batch whose prompt would be longer (characters, about 30,000 tokens) is split.
CONSOLIDATION_QUESTION_CHARACTERS = 120_000
# A proposal with less confidence is not stored.
CONFIDENCE_FLOOR = 0.5
# Contradictions. Pairs of facts with at least this cosine are shown to a model: 95% of contradicting pairs reach it
# (`python -m benchmarks.contradictions`). A fact with this much more confidence wins without a review.
NEIGHBOUR_COSINE = 0.45
CONFIDENCE_GAP = 0.2
# Subtracted from the confidence of a correction, because the fact was wrong once.
HARSH_PENALTY = 0.1

# L0, the working memory: entries of each slot, and characters of the scratchpad.
MAX_OBSERVATIONS = 5
MAX_CONSTRAINTS = 8
SCRATCHPAD_CHARACTERS = 500
MAX_PLAN_STEPS = 20
# Characters in one slot entry (a goal, step, observation, constraint or note).
SLOT_CHARACTERS = 500
# L1: how many of the latest turns a search within a session reads, and how many memories one task may write at its end.
SESSION_SEARCH_TURNS = 1_000
MAX_LEARNED = 5

# Retention periods; `hygiene/ageing.py` defines the classes.
SOFT_UNUSED = timedelta(days=30)
ARCHIVE_AFTER = timedelta(days=90)
DOUBTFUL_CONFIDENCE = 0.3
DOUBTFUL_AFTER = timedelta(days=60)
ERASE_EVICTED_AFTER = timedelta(days=30)

# Destruction. An approved erasure waits this long, so that a mistake can be withdrawn; one person asks for so many
# whole memories in 24 hours; an approved export is downloaded within 24 hours. A new administrator, and a loosened
# policy of a tenant, count after SETTLED_AFTER.
ERASURE_DELAY = timedelta(hours=24)
EXPORTS_DAILY = 5
EXPORT_WAITS = timedelta(hours=24)
SETTLED_AFTER = timedelta(hours=24)
# A reason that staff stated for looking at a member's memory holds this long.
PURPOSE_HOLDS = timedelta(hours=1)

# Seconds to wait for the classifier of suspicious values. The member waits too, because it runs before the turn is
# stored.
CLASSIFIER_SECONDS = 6.0
