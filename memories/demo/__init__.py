"""The demo: two invented companies, their people, and what these have said over many months.

Invariant: everything is written through the services, as if it had been lived; a second seeding changes nothing.
"""
