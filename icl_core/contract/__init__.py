"""What an experiment is made of: settings, runs, claims, panels and the story told of them. No
torch."""
