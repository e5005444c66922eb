"""Measures recall on questions with known answers, through the product's own services and pipeline.

A measurement uses a separate database and index folder and leaves nothing behind.
"""
