"""The demo: two invented companies, their people, and many months of their conversations.

Everything is written through the services, as in real use. A second seeding changes nothing.
"""
