"""What leaves the dashboard and comes back: pages, widgets, files, models, pictures."""
