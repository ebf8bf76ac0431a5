"""The machine that the project runs on: its device, memory, limits and folders."""
