"""MCP: the memory of one member as tools, a resource and a prompt for any agent."""
