"""A grammar of plain English statements: which of them become memories when there is no language model to judge."""
