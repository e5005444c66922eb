"""Constants of behaviour, each once, with unit and source. The recall recipe's weights live in `recall/adjust.py`."""

from __future__ import annotations

from datetime import timedelta

# Vectors of the bundled encoder (models/minilm-l6-memory-int8-onnx/README.md); int8 means x 127.
EMBEDDING_DIMENSIONS = 384
VECTOR_SCALE = 127.0

# Text limits, in characters. A message of a few pages is fine; a megabyte is a mistake or an attack.
MAX_MESSAGE_CHARACTERS = 32_000
MAX_MEMORY_CHARACTERS = 8_000
MAX_QUERY_CHARACTERS = 32_000
MAX_TITLE_CHARACTERS = 200
MAX_KEY_CHARACTERS = 100
MAX_STEPS = 50
# Nobody's memory begins before the first or ends after the last. A time at the edge of the calendar has no form in
# every time zone, and milliseconds given as seconds lie far behind it.
FIRST_YEAR, LAST_YEAR = 1800, 2200

# Recall (design: N = 80 a sub-query; 40 costs .005 recall@10, 160 gains nothing).
CANDIDATES_PER_SUB_QUERY = 80
MAX_RECALL_LIMIT = 100
DEFAULT_RECALL_LIMIT = 10
# The automatic recall of a chat turn: items that one brings into the prompt, and tokens, as the model in use counts
# them, that all of a turn take together.
AUTOMATIC_RECALL_ITEMS = 7
AUTOMATIC_RECALL_TOKENS = 4_000
# So many of the items are kept for facts and how-tos: a long history has many sentences that sound like the question,
# and they must not crowd out the one fact that answers it.
AUTOMATIC_SETTLED_ITEMS = 2
# Just-written memories of one owner that are scored beside the candidates before the search plane has them.
TAIL_LIMIT = 256

# The agent loop: model calls in a turn, history kept in the prompt (turns), how long a stream may stall (seconds).
MAX_AGENT_STEPS = 6
HISTORY_TURNS = 20
MODEL_TIMEOUT_SECONDS = 60.0
# After this long without a word from the model, a stream says that it still waits, and so notices who left (seconds).
MODEL_SILENCE_SECONDS = 1.0

# L1 session memory lives this long after its last turn.
SESSION_LIFETIME = timedelta(hours=24)

# The outbox: how long a drainer may hold entries before another takes them, and how many it takes at once.
OUTBOX_LEASE = timedelta(seconds=60)
OUTBOX_BATCH = 256

# The agent. Pinned facts move up in the prompt every so many turns, so that a long conversation does not bury them.
PINNED_REFRESH_TURNS = 5
# History kept in the prompt is also bounded in tokens, as the model in use counts them, newest turns first.
HISTORY_TOKENS = 12_000
# An answer may not be longer (characters), nor take longer (seconds for a model call), nor call more tools at once.
MAX_ANSWER_CHARACTERS = 32_000
MODEL_ANSWER_SECONDS = 300.0
MAX_TOOL_CALLS_AT_ONCE = 8
# Before the first word a failed call is tried again so often; a server asking for a longer pause (s) is not waited for.
MODEL_RETRIES = 2
MODEL_RETRY_SECONDS = 0.5
MAX_RETRY_AFTER_SECONDS = 5.0
# An answer in JSON: tokens, four characters to each of the greatest answer.
MAX_JSON_ANSWER_TOKENS = MAX_ANSWER_CHARACTERS // 4
# What a model may erase in one turn, however it came to ask for it; and how many pinned facts go into the prompt, in
# items and in tokens, out of how many.
MAX_FORGETS_IN_A_TURN = 3
MAX_PINNED_FACTS = 20
PINNED_TOKENS = 2_000
MAX_PINNED_CHOSEN_FROM = 200

# The API: rows of one page of a list, turns of one page of a transcript, ids in one list of a request.
MAX_LISTED = 100
MAX_LISTED_TURNS = 200
MAX_LINKS = 100

# Consolidation: after so many new episodes of an owner, or once the oldest has waited so long; how many one run reads.
CONSOLIDATE_EVERY = 20
CONSOLIDATE_AFTER = timedelta(hours=24)
CONSOLIDATION_BATCH = 20
# A batch whose question would be longer (characters, about 30,000 tokens) is asked in smaller parts.
CONSOLIDATION_QUESTION_CHARACTERS = 120_000
# A proposal below this confidence is not stored; one this alike to a known fact, with the same details, is known.
CONFIDENCE_FLOOR = 0.5
KNOWN_COSINE = 0.90
# The third gate of every write: a wording this alike, with the same details, is the same fact.
DUPLICATE_COSINE = 0.95
# Contradictions: two facts this alike are near enough to be put before a model (`python -m benchmarks.contradictions`:
# 95% of the contradicting pairs are); one that is so much surer than the other stays without a person being asked.
NEIGHBOUR_COSINE = 0.45
CONFIDENCE_GAP = 0.2
# A corrected fact was wrong once: the correction is believed a little less.
HARSH_PENALTY = 0.1

# L0, the working memory: what its slots hold, in entries and characters.
MAX_OBSERVATIONS = 5
MAX_CONSTRAINTS = 8
SCRATCHPAD_CHARACTERS = 500
MAX_PLAN_STEPS = 20
# One entry of a slot (a goal, a step, an observation, a constraint, a note) in characters.
SLOT_CHARACTERS = 500
# L1: turns that a search within a session looks through, latest first, and what one task may teach at its end.
SESSION_SEARCH_TURNS = 1_000
MAX_LEARNED = 5

# The ends of memories (days): see `hygiene/ageing.py` for the classes.
SOFT_UNUSED = timedelta(days=30)
ARCHIVE_AFTER = timedelta(days=90)
DOUBTFUL_CONFIDENCE = 0.3
DOUBTFUL_AFTER = timedelta(days=60)
ERASE_EVICTED_AFTER = timedelta(days=30)

# The classifier of suspicious values: a member waits for it before the turn is stored (seconds).
CLASSIFIER_SECONDS = 6.0
