"""The commands: each module adds some to the parser, `cli.py`, and carries them out."""
