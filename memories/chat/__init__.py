"""The member's pages: the chat, and the memories. Views parse, call services and selectors, and render."""
