"""Staff pages: class-based views that render in the admin's frame, below the admin's URL."""
