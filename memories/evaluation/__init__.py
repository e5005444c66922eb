"""Measuring recall on questions whose answers are known, through the services and the pipeline of the product.

Invariant: a measurement runs in a database and an index folder of its own and leaves nothing behind.
"""
