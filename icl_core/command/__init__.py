"""The commands: each module adds some to the parser of `icl_core.cli` and carries them out."""
