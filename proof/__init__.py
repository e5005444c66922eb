"""The isolation proof: creates tenants with known secrets, attacks every entry point as them, and reports leaks.

Product code does not import this package; `manage.py` loads it for the command `prove_isolation` only. It attacks,
changes and erases only tenants that it created, also after a crash. A report names attacks, and owners by number, and
holds no secret.
"""
