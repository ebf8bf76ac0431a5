"""Trainings in processes of their own: asked for by pages and the command line, done by workers."""
