"""API views, which parse requests, call services, selectors, recall or the agent, and render.

They never use the ORM.
"""
