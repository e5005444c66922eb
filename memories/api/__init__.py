"""The REST API: thin views over services, selectors, recall and the agent. Its guide is docs/api.md."""
