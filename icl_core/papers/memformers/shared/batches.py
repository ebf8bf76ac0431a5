"""The prompts of a training, step by step."""

from typing import Any

import torch

from icl_core.papers.memformers.shared import authors_prompts
from icl_core.papers.memformers.shared.task import (
    Batch,
    Pool,
    fixed_batch,
    gaussian,
    label_noise,
    turned_batch,
)
from icl_core.papers.memformers.shared.variants import VARIANTS

RESAMPLED = 100  # steps that a batch is kept for in the paper's text


class Batches:
    """Gives each step its prompts: fresh ones, or the same for 100 steps or for all."""

    def __init__(self, config: Any) -> None:
        self.config = config
        # of the seed alone: every depth and what is trained beside it meet the same prompts
        self.generator = torch.Generator().manual_seed(30_000 + config.seed)
        self.examples = VARIANTS[config.variant].needs_examples
        self.pool: Pool | None = None
        if config.batches == "fresh":
            has_examples = self.examples or config.noise > 0
            self.pool = Pool(config, self.generator, has_examples)
        self.kept: Batch | None = None
        self.period = -1  # of the batch that is kept

    def at(self, step: int) -> Batch:
        """Return the batch of a step. Steps come in order; a training that is resumed may begin at
        any."""
        if self.pool is not None:
            config = self.config
            S, U = self.pool.take(config.seeds, config.batch, self.generator)
            target = gaussian((len(S), config.d, 1, config.batch), self.generator)
            if U is None or not config.noise:
                return Batch(S, target, U)
            noise = label_noise(U, config.noise, self.generator)
            return Batch(S, target, U if self.examples else None, noise=noise)
        period = step // RESAMPLED if self.config.batches == "resampled" else 0
        if self.kept is None and self.config.batches == "authors":
            self.kept = authors_batch(self.config, self.examples)
            self.period = period
        if self.kept is None or self.period != period:
            # a generator of its own for each period: a run that is resumed meets the same batch
            own = torch.Generator().manual_seed(1_000_000 + 10_000 * self.config.seed + period)
            self.kept = fixed_batch(self.config, own, self.examples)
            self.period = period
        return self.kept


def authors_batch(config: Any, examples: bool) -> Batch:
    """Return the authors' own training batch as every seed meets it. A method that is learned
    directly leaves out each prompt's last example, as their classical methods do."""
    left_out = 0 if VARIANTS[config.variant].preconditioned else authors_prompts.LEFT_OUT
    normals = authors_prompts.training_batch(config.d, config.n + left_out, config.batch)
    return turned_batch(config, normals.first(config.n), examples)
