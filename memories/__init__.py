"""memoryhub's memories: what happened, what is true, what works, what is shared."""
