"""What is told on a page: beats, questions, glossary, tour and lessons."""
