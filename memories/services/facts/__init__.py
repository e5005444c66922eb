"""Facts: storing, superseding, ending and restoring them."""
