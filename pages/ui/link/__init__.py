"""The address of a page: every setting of it, and what the browser tells the server."""
