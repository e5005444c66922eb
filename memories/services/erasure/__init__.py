"""Erasing all that is kept of one member: asked for, approved, carried out in stages, and proven by a receipt."""
