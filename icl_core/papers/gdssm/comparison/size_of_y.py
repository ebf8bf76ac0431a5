"""How much a model's prediction changes as every y of the prompt is made larger or smaller, each by
a factor of its own. No training: the weights are freshly drawn."""

from dataclasses import replace
from functools import cache

import torch

from icl_core.papers.gdssm.comparison.settings import Config
from icl_core.papers.gdssm.shared.sequence_models import train
from icl_core.papers.gdssm.shared.sequence_models.all_models import learners
from icl_core.papers.gdssm.shared.task import Tasks

LEAST = 0.2  # the smallest factor
MOST = 5.2  # the largest
PROMPTS = 64
BLIND = 1e-3  # a relative change below it is that of the norm's ε, or of rounding: 1e-4 at most


@cache
def changes(config: Config, bias: bool) -> dict[str, float]:
    """Return, by a model's id, the root mean square of the change of its predictions over theirs,
    with the weights of the first seed, in float64."""
    generator = torch.Generator().manual_seed(1)
    tasks = train.tasks(config, PROMPTS, generator).to(torch.float64)
    pairs = tasks.y[:-1]  # (N, n_o, tasks)
    uniform = torch.rand(len(pairs), 1, PROMPTS, generator=generator, dtype=torch.float64)
    factors = LEAST + (MOST - LEAST) * uniform.to(pairs.device)
    scaled = Tasks(tasks.x, torch.cat([factors * pairs, tasks.y[-1:]]))
    changes_by_id = {}
    for learner in learners(replace(config, bias=bias)):
        weights = {name: tensor.double() for name, tensor in learner.initial([config.seed]).items()}
        before, after = (learner.predict(weights, prompts) for prompts in (tasks, scaled))
        changes_by_id[learner.model.id] = float((after - before).norm() / before.norm())
    return changes_by_id
