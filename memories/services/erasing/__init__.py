"""What an erasure reaches, and how each place that held the words is emptied; `services/forget.py` is the entry."""
