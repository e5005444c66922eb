"""The views: parse, call a service, a selector, recall or the agent, render. They never touch the ORM."""
