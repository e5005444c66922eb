"""Services: the only writers of memories. Each runs in one transaction with its audit events and outbox entries."""
