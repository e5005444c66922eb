"""Services: the only writers of memories, each one transaction with audit and outbox."""
