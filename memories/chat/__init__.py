"""The pages for members: the chat, and what is remembered. Views parse, call services and selectors, and render."""
