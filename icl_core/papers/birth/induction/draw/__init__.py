"""What induction draws of its runs."""
