"""Many runs at once: a grid of settings, its runs through the job queue, and what they measured as
tables and maps."""
