"""How models are trained: the training loop, a run's phases, grids of trainings, and several
trainings or seeds in one batched pass."""
