"""How long until the head stands, and how does that grow with the length of the sequences? Musat et
al. (2025) find that the time grows with the square of the context length, where there is one place
to copy from. Here a transformer, the simplified or the full one, learns this paper's task from
sequences of several lengths, with SGD and with AdamW, and you see the steps on log axes beside a
slope of 2. “One place to copy from” has their kind of data, and “Ever more places” leads back to
this paper's.

Change what is waited for: right predictions, or half of what a matrix has to store. A longer
sequence has more positions to store, but it also repeats its triggers more often.
"""

import numpy as np

from icl_core.contract.experiment import Drawing, Experiment, Run
from icl_core.papers.birth.length import claims
from icl_core.papers.birth.length.arrival_times import doubling
from icl_core.papers.birth.length.draw import curves, growth
from icl_core.papers.birth.length.draw.growth import SHORT
from icl_core.papers.birth.length.metrics import measure
from icl_core.papers.birth.length.settings import OPTIMISERS, PRESETS, Config, View, lengths_of
from icl_core.papers.birth.length.story import STORY
from icl_core.papers.birth.length.train import DENSE, EVERY, WATCHED, compute
from icl_core.training.loop import evaluations


def headline(run: Run, view: View) -> str:
    """Return what you see: how many times the steps twice the length takes, with each optimiser."""
    found = [
        (doubling(run, view.until, name), OPTIMISERS.get(name, name))
        for name in run.names("optimisers")
    ]
    told = [f"{longer:.1f} times {{}}with {name}" for longer, name in found if np.isfinite(longer)]
    if not told:
        return f"Not every training comes to {SHORT[view.until]}."
    steps = " and ".join(told).format(f"the steps to {SHORT[view.until]} ", *[""] * len(told))
    return f"Twice the length takes {steps}; quadratic growth would take 4 times."


def cost(config: Config) -> float:
    """Giga-operations of all trainings: maps, matrices and outputs where the loss counts, and the
    evaluations."""
    each = [
        T
        * (config.batch * config.steps + len(evaluations(config.steps, EVERY, DENSE)) * WATCHED / 3)
        * _of_a_position(config, T)
        for T in lengths_of(config)
    ]
    return len(OPTIMISERS) * config.seeds * sum(each) / 1e9


def _of_a_position(config: Config, T: int) -> int:
    """Operations of one position of a batch, forward and back."""
    if not config.in_the_papers_task:  # tables of readings, once a step, and the keys of layer 1
        return 6 * T + 6 * (config.N + T) * config.d**2 // (config.batch * T)
    if config.full:
        return 6 * (4 * T * config.d + 24 * config.d**2 + config.N * config.d)
    return 6 * T * config.d + 16 * config.d**2 + 2 * config.N * config.d


EXPERIMENT = Experiment(
    name="length",
    title="Time to the head",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("growth", growth.growth_panel, ("until",), wide=True, moving=False),
        Drawing("even", growth.even, (), moving=False),
        Drawing("accuracy", curves.accuracy, ("optimiser_shown",), live=True, moving=False),
        Drawing("w_k2", curves.w_k2, ("optimiser_shown",), live=True, moving=False),
        Drawing("w_k1", curves.w_k1, ("optimiser_shown",), live=True, moving=False),
        Drawing("table", growth.table, (), "Every slope", moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    goes_on=lambda config: True,
    story=STORY,
)
