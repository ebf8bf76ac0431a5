"""The types of which a paper's author builds an experiment: settings, runs, claims, panels, story.
No torch."""
