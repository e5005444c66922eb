"""SCIM 2.0 (RFC 7643, 7644): a company's directory brings its people, and takes them away."""
