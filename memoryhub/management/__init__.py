"""Commands of the installation itself."""
