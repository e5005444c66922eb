"""How memories are told to people, on the pages of members and of staff alike: marks, times, lines."""
