"""From a run to the matrices that it holds, what they make of one sequence, and what is measured
after each step."""

from dataclasses import replace

import numpy as np
import torch

from icl_core.contract.experiment import Run
from icl_core.contract.seeds import setting_of
from icl_core.figures.character_labels import typed_form
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.proof_model import back, sample, tables
from icl_core.papers.birth.shared.sequence import Reading, Shown, example, typed
from icl_core.papers.birth.shared.sequence import read as read_whole
from icl_core.papers.birth.steps.gradient_steps import begun, taken, task_of
from icl_core.papers.birth.steps.settings import LONGEST, THEN, Config, View

FROM = 4_030  # the seed of the first random sequence
STORED = 0.5  # a recall that counts as stored


def way_of(run: Run, view: View) -> str:
    """Return the id of the gradients that a view asks for, or of the only ones that there are."""
    return view.way if view.way in run.names("ways") else run.names("ways")[0]


def weights_after(run: Run, steps: int, way: str) -> Weights:
    """Return the model after its first `steps` steps, of the seed that the run shows.

    way  how the gradients were taken, an id of `settings.WAYS`
    """
    weights = begun(_one_seed(run))
    for name in run.config.order.split(THEN)[:steps]:
        weights = taken(run.config, name, torch.tensor(run[f"step/{way}_{name}"]), weights)
    return weights


def _one_seed(run: Run) -> Config:
    """Return the config of the seed that the run shows."""
    return replace(run.config, seed=setting_of(run), seeds=1)


def shown(run: Run, view: View) -> Shown:
    """Return the visitor's own sequence; else one as the proof has it, or the example that the
    whole model's page has."""
    task = task_of(replace(run.config, seeds=1))
    if view.sequence:
        return typed(task, view.sequence, "")
    if run.config.setup == "whole":
        return typed(task, *example(task))
    drawn = sample(
        run.config.N,
        min(LONGEST, run.config.T),
        1,
        torch.Generator().manual_seed(FROM + view.sample),
    )
    letters = [task.characters[token] for token in drawn.tokens[0].tolist()]
    return typed(task, "".join(letters), letters[-1])


def stage_text(run: Run, view: View) -> str:
    """Return the sequence on stage while the visitor has typed none."""
    return typed_form(shown(run, replace(view, sequence="")).characters)


def read(weights: Weights, sequence: Shown, setup: str) -> Reading:
    """Return what the model makes of every position of a sequence; the simplified one reads tokens
    alone."""
    if setup == "whole":
        return read_whole(weights, sequence, 2)
    readings = tables(weights)
    tokens = sequence.inputs
    A1 = back(readings.looks[: len(tokens), : len(tokens)])
    scores = readings.matches[tokens][:, tokens] @ A1.T  # [query, key]
    future = torch.ones_like(scores, dtype=torch.bool).triu(1)
    A2 = scores.masked_fill(future, -torch.inf).softmax(-1)
    logits = A2 @ readings.says[:, tokens].T  # [query, N]
    return Reading(A1.numpy(), A2.numpy(), logits.softmax(-1).numpy())


def zero(weights: Weights, name: str) -> bool:
    """Return whether a matrix has learned nothing at all."""
    return not bool(weights[name].any())


def learned(run: Run, steps: int) -> tuple[str, ...]:
    """Return the names of the matrices that have had their step."""
    return tuple(run.config.order.split(THEN)[:steps])


def after(run: Run, measure: str, steps: int = 3, way: str = "batch") -> np.ndarray:
    """Return a measure after the first `steps` steps, [seeds]; `way` is an id of
    `settings.WAYS`."""
    return run[f"curve/{measure}_{way}"][:, steps]


def tau(run: Run) -> float:
    """Return eq. 16's τ, exactly: how strong the spurious pairs of W_O² are beside the right
    ones."""
    own, mean = run["law/shares"]
    return float(mean / own)


def complete(run: Run) -> np.ndarray:
    """Return whether each order stores more than half of all three memories, [seeds, orders]
    bool."""
    return np.all(run["orders/recall"] > STORED, axis=-1)


def placed(run: Run) -> dict[str, np.ndarray]:
    """Return the share of right answers by which part of the stream holds positions, [seeds]
    each."""
    return dict(zip(run.names("places"), run["places/accuracy"].T, strict=True))
