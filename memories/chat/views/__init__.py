"""Views of the member's pages, which parse the request, call a service or a selector, and render."""
