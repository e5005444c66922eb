"""The erasure of a member: requested, approved, carried out in stages, and confirmed by a signed receipt."""
