"""How Spanish pages write dates, times and numbers."""
