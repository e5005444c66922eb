"""The proof of isolation: throwaway tenants with planted secrets, an attack on every edge, and a report of the leaks.

Only tenants that the proof made are attacked, written to or erased. A report names attacks and owners by id, never a
secret. The product does not import this package; `manage.py prove_isolation` loads it.
"""
