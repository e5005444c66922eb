"""Benchmarks; each operation is timed beside its floor, the least work without memoryhub, in the same run."""
