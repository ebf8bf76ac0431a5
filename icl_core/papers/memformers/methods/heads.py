"""Heads whose attention is summed into one register, against one head with the sum of their matrices."""

import torch

from icl_core.experiment import Run
from icl_core.papers.memformers.methods import token_form
from icl_core.papers.memformers.shared.read_run import parameters_at, root_of

PROMPTS = 256


def off_their_sum(run: Run) -> float:
    """The largest difference of the two models' predictions on fresh prompts, token by token as the paper writes them,
    relative to the largest prediction."""
    config = run.config
    parameters, root = parameters_at(run, 1, config.layers), root_of(run, 1)
    merged = {**parameters, "A": parameters["A"].sum(1, keepdim=True)}
    generator = torch.Generator().manual_seed(2**31 + 37)
    U = torch.randn(PROMPTS, config.d, config.n + 1, generator=generator)
    X = root @ U
    y = (X * torch.randn(PROMPTS, config.d, 1, generator=generator)).sum(1)[:, : config.n]
    many, one = (token_form.forward(each, config, root, X, y).predictions for each in (parameters, merged))
    return float((many - one).abs().max() / one.abs().max())
