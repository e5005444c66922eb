"""The search plane on Elasticsearch: one index per kind and an archive, searched with each member's own API key."""
