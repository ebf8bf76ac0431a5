"""The pages of the dashboard, one short file each."""
