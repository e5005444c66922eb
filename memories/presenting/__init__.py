"""Presentation of memories, shared by the member's pages, the staff pages and the API."""
