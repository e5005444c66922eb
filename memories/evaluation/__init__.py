"""Measuring recall on questions with known answers, through the services and the pipeline of the product.

A measurement runs in a database and an index folder of its own and leaves nothing behind.
"""
