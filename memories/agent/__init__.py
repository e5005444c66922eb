"""The agent: a bounded loop of model calls and tools over one user turn."""
