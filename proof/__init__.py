"""The isolation proof: makes tenants with known secrets, attacks every entry point as them, and reports what leaked.

The package is not part of the product: product code does not import it, and `manage.py` loads it for the command
`prove_isolation` only. It attacks, writes to and erases only tenants that it made, also after a crash. A report names
attacks and owners by their ids and never holds a secret.
"""
