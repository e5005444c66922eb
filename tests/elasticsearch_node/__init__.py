"""A real Elasticsearch node with security, for development and tests: no container, no downloaded distribution.

It is put together from the jars that Elastic publishes in the public Maven repository, with two small modules of our
own (java/) in place of two that are not published. It needs a JDK 21 or newer, and Maven for the first start. It runs
on the self-generated trial licence, for API keys with document-level security are a paid feature; the jars are fetched
by the machine that runs the tests and are never part of this project. `docs/development.md` says what it lacks.

    python -m tests.elasticsearch_node start    # prints ELASTICSEARCH_URL and ELASTICSEARCH_SETUP
    python -m tests.elasticsearch_node url
    python -m tests.elasticsearch_node stop
    python -m tests.elasticsearch_node wipe     # stops it and removes its data; this also renews the trial licence
"""
