"""The site: what the dashboard shows of the shipped runs, as plain files that need no server."""
