"""The pages about one member, a module each; `memories/admin/member_memory.py` gives them their addresses."""
