"""What goes in and comes out: the bodies of requests and responses, a file for each resource."""
