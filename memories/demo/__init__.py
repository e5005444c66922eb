"""The demo: two invented companies, their people, and what those said over many months.

Everything is written through the services, as in real use; a second seeding changes nothing.
"""
