"""The look of every page: colours, charts, the menu and how values are written."""
