"""The search plane on Elasticsearch: one index for each kind and an archive, read with each member's own key."""
