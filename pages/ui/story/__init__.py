"""The script of a page and what belongs to it: beats, questions, glossary, tours and lessons."""
