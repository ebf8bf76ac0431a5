"""The prompts that a training meets, step by step."""

import torch

from icl_core.papers.memformers.shared import model
from icl_core.papers.memformers.shared.settings import Config
from icl_core.papers.memformers.shared.task import Batch, Pool, kept, sampled

RESAMPLED = 100  # steps that a batch is kept for in the paper's text


class Batches:
    """Gives each step its prompts: fresh ones, or the same for 100 steps or for all."""

    def __init__(self, config: Config) -> None:
        # of the seed alone: every depth and what is trained beside it meet the same prompts
        self.config, self.generator = config, torch.Generator().manual_seed(30_000 + config.seed)
        self.examples = model.needs_examples(config.variant)
        self.pool = Pool(config, self.generator, self.examples) if config.batches == "fresh" else None
        self.kept: Batch | None = None
        self.period = -1

    def at(self, step: int) -> Batch:
        """The batch of a step; steps in order, or from the start of a period."""
        if self.pool is not None:
            return sampled(self.config, self.pool, self.generator)
        period = 0 if self.config.batches == "fixed" else step // RESAMPLED
        if self.kept is None or self.period != period:
            # a generator of its own for each period: a run that is resumed meets the same batch
            own = torch.Generator().manual_seed(1_000_000 + 10_000 * self.config.seed + period)
            self.kept, self.period = kept(self.config, own, self.examples), period
        return self.kept
