"""What is drawn of the theorems: the stage, what is put into the tokens, and tables."""
