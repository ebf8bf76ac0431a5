"""The constructed model of an experiment's settings, at any width."""

import torch

from icl_core.papers.birth.constructed.settings import Config
from icl_core.papers.birth.shared.construction import construct
from icl_core.papers.birth.shared.model import Weights, initialise
from icl_core.papers.birth.shared.task import Task, make_task

WIDTHS = (16, 32, 64, 128, 256, 512)


def task_of(config: Config) -> Task:
    """The bigram task on which the construction is evaluated."""
    return make_task(65, config.K, config.T, config.triggers)


def widths(config: Config) -> list[int]:
    """The widths tried: powers of two and d; orthonormal embeddings need 2 N + T dimensions."""
    least = 2 * 65 + config.T if config.embeddings == "orthonormal" else 0
    return sorted({width for width in (*WIDTHS, config.d) if width >= least})


def constructed(config: Config, d: int, cross_talk: str) -> Weights:
    """The constructed model of width d."""
    generator = torch.Generator().manual_seed(config.seed)
    random = initialise(65, d, config.T, generator, "paper", config.feed_forward, config.embeddings)
    return construct(random, task_of(config), config.logit, config.output, cross_talk)
