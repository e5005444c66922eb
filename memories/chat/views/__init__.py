"""The views: each parses its request, calls a service or a selector, and renders."""
