"""`make bench-peers`: memoryhub beside other memories that run on this machine, on the same memories and questions.

`__main__`, `tasks` and `own` run in the environment of memoryhub; `worker`, `stores` and `encoders` run in that of the
peers (`requirements/bench-peers.txt`), in a process for each peer, and need no Django.
"""

# The encoder that memoryhub bundles, and all-MiniLM-L6-v2 of sentence-transformers; each peer gets both.
BUNDLED, STOCK = "memoryhub's", "all-MiniLM-L6-v2"
# The peers, each with the distribution whose version is shown.
PEERS = {
    "mem0, Qdrant on disk": "mem0ai",
    "mem0, pgvector": "mem0ai",
    "LangGraph InMemoryStore": "langgraph",
    "LangGraph PostgresStore": "langgraph-checkpoint-postgres",
}
