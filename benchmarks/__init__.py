"""Measurements, each beside the bare floor of the same run."""
