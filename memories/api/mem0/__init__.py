"""The address that clients of mem0 call: its routes over the services of /api/v1 (docs/mem0.md, docs/adr/0038)."""
