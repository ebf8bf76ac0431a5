"""A model with matrices replaced by their construction, their initial value or zero: its weights,
what it makes of the sequence on stage, and what it achieves."""

from collections.abc import Hashable
from functools import lru_cache

import torch

from icl_core.contract.experiment import CannotDraw, Run
from icl_core.contract.visitor import IN_PLACE, ReplacedPart
from icl_core.figures import significant
from icl_core.papers.birth.induction.beside_construction import compare
from icl_core.papers.birth.induction.load_run import weights_at
from icl_core.papers.birth.induction.settings import Config, View
from icl_core.papers.birth.shared import draw
from icl_core.papers.birth.shared.draw import NAMES
from icl_core.papers.birth.shared.gradient import evaluate
from icl_core.papers.birth.shared.head_maps import Heads
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.sequence import Reading, Shown, read
from icl_core.papers.birth.shared.task import Batch, Task
from icl_core.papers.birth.shared.train import held_out, task_of

FIELDS = {name: f"graft_{name}" for name in NAMES}
GRAFTS = (*FIELDS.values(), "strength")  # the view's fields
PANELS = {"W_K1": "w_k1", "W_K2": "w_k2", "W_O2": "w_o2"}  # of the stage
POSITIONS = 2**14  # held-out positions on which a model is evaluated
MOST = 200  # evaluations that are kept
# The caches: factors by run, snapshot and matrix; constructions by run and matrix; evaluations by
# `_key`.
_FACTORS: dict[tuple[str, int, str], float] = {}
_CONSTRUCTED: dict[tuple[str, str], torch.Tensor] = {}
_EVALUATIONS: dict[Hashable, dict[str, float]] = {}


def wanted(config: Config, view: View) -> dict[str, str]:
    """Return what the view puts in place of each matrix that the model has and the view
    replaces: "constructed", "initial" or "zero"."""
    is_there = {"W_K1": config.layers == 2, "W_F": config.feed_forward}  # the others always are
    parts = {}
    for name, field in FIELDS.items():
        part = getattr(view, field)
        if is_there.get(name, True) and part != "trained":
            parts[name] = part
    return parts


def replaced(config: Config, view: View) -> list[ReplacedPart]:
    """Return what the view replaces, for the page."""
    return [
        ReplacedPart(NAMES[name], IN_PLACE[part], PANELS.get(name, ""))
        for name, part in wanted(config, view).items()
    ]


def graft(run: Run, trained: Weights, view: View) -> tuple[Weights, dict[str, str]]:
    """Return the weights at the view's snapshot, `trained`, after the replacements that the view
    asks for, and a phrase for each. Raises `CannotDraw` where there is no initial value."""
    parts: dict[str, torch.Tensor] = {}
    phrases: dict[str, str] = {}
    for name, part in wanted(run.config, view).items():
        if part == "zero":
            parts[name] = torch.zeros_like(trained[name])
            phrases[name] = "zero"
        elif part == "initial":
            if not run.config.trains:
                raise CannotDraw("matrices that were given have no initial value")
            if f"snapshot/{name}" not in run.tensors:
                raise CannotDraw("of its seeds a run keeps the initial values of the first alone")
            parts[name] = torch.tensor(run.snapshot(name, 0))
            phrases[name] = "initial value"
        else:
            fitted_factor, matrix = _construction(run, run.snapshot_at(view), name, trained)
            factor = fitted_factor * view.strength
            parts[name] = factor * matrix
            phrases[name] = f"construction × {significant(factor)}"
    return trained.with_(**parts), phrases


def weights_shown(run: Run, view: View) -> Weights:
    """Return the weights at the view's snapshot after its replacements."""
    weights, _ = graft(run, weights_at(run, run.snapshot_at(view)), view)
    return weights


def reading(run: Run, view: View) -> tuple[Reading, Weights, Shown]:
    """Return what the model makes of the sequence on stage, the model, and the sequence."""
    sequence = draw.on_stage(task_of(run.config), view)
    weights = weights_shown(run, view)
    return read(weights, sequence, run.config.layers), weights, sequence


def heads(run: Run, view: View) -> Heads:
    """Return what the maps show of the sequence on stage."""
    outcome, _, sequence = reading(run, view)
    return draw.heads(outcome, sequence)


def _construction(
    run: Run, snapshot: int, name: str, trained: Weights
) -> tuple[float, torch.Tensor]:
    """Return the factor that fits a matrix's construction to it, and the construction, which is the
    same at all snapshots. Both are kept: the clock asks for them at every snapshot."""
    factor_key = run.digest, snapshot, name
    matrix_key = run.digest, name
    factor = _FACTORS.get(factor_key)
    matrix = _CONSTRUCTED.get(matrix_key)
    if factor is None or matrix is None:
        comparison = compare(name, trained, run.config)
        factor = comparison.aligned.factor
        matrix = comparison.matrix
        for cache, most in ((_FACTORS, 10 * MOST), (_CONSTRUCTED, 12)):
            if len(cache) >= most:
                cache.clear()  # another visitor's thread may do so at any time
        _FACTORS[factor_key] = factor
        _CONSTRUCTED[matrix_key] = matrix
    return factor, matrix


@lru_cache(maxsize=4)
def _held_out(task: Task, sequences: int) -> Batch:
    """Return held-out sequences; they are kept, as drawing them takes as long as an evaluation."""
    return held_out(task, sequences, "cpu")


def known_accuracy(run: Run, view: View) -> float | None:
    """Return the accuracy that the view's replacements leave, if it has been evaluated before or
    the view is at the last snapshot; else None."""
    at_last = run.snapshot_at(view) >= len(run.snapshot_steps) - 1
    if at_last or _key(run, view) in _EVALUATIONS:
        return achieved(run, view)["accuracy"]
    return None


def achieved(run: Run, view: View) -> dict[str, float]:
    """Return what the model achieves on held-out sequences after the view's replacements, see
    `gradient.evaluate`. It is kept, as a page asks for it again and again."""
    key = _key(run, view)
    evaluation = _EVALUATIONS.get(key)
    if evaluation is None:
        if len(_EVALUATIONS) >= MOST:
            _EVALUATIONS.clear()
        batch = _held_out(task_of(run.config), POSITIONS // run.config.T)
        evaluation = evaluate(weights_shown(run, view), batch, run.config.layers)
        _EVALUATIONS[key] = evaluation
    return dict(evaluation)


def _key(run: Run, view: View) -> Hashable:
    """Return all that an evaluation depends on: run, snapshot, replacements and, where a
    construction is among them, its strength."""
    parts = wanted(run.config, view)
    strength = view.strength if "constructed" in parts.values() else 1.0
    return run.digest, run.snapshot_at(view), tuple(parts.items()), strength
