"""How English pages write dates and times."""
