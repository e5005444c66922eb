"""The search plane on Elasticsearch: one index for each kind, read with each member's own key."""
