"""The memories app: episodes, facts, playbooks and the shared catalog of each tenant and user."""
