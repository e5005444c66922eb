"""How German pages write dates, times and numbers."""
