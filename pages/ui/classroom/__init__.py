"""A class that answers by phone: the routes that phones ask, and the lecturer's side."""
