"""The proof of isolation: throwaway tenants with known secrets, every way in attacked, and a report of what came out.

Invariants: only tenants that the proof made are attacked, written to or erased; whatever it made goes again, also after
a crash; a report names ways and owners by their ids, never a secret.
"""
