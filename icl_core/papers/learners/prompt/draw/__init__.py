"""The drawings of one prompt and every learner."""
