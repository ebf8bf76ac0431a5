"""A run and a view to panels."""
