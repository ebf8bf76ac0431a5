"""The model that the stage shows: the trained one, or one with parts replaced."""

from collections.abc import Hashable
from dataclasses import replace
from itertools import chain
from typing import Any

from icl_core.contract.experiment import Run
from icl_core.contract.visitor import IN_PLACE, ReplacedPart, in_words
from icl_core.papers.gdssm.layer import ablation
from icl_core.papers.gdssm.layer.weights_parts import Part, parts
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import train
from icl_core.papers.gdssm.shared.any_layer import Model
from icl_core.papers.gdssm.shared.load_run import constructed_of, row_of, trained_at
from icl_core.papers.gdssm.shared.task import Tasks

GRAFTS = tuple(chain.from_iterable(fields.values() for fields in ablation.FIELDS.values()))
PANEL = "weights"  # of the stage
TASKS = (2**12, 2**19)  # held-out tasks at most, and numbers of x at most: an answer in 0.3 s
MOST = 200  # losses kept
_LOSSES: dict[Hashable, float] = {}


def wanted(config: Any, view: Any) -> dict[str, str]:
    """Return what the view puts in place of each part that the model has and the view replaces."""
    parts = {name: getattr(view, field) for name, field in ablation.fields_of(config).items()}
    return {
        name: how
        for name, how in parts.items()
        if how != "trained" and (name != "skip" or config.skip)
    }


def as_trained(view: Any) -> Any:
    """Return the view without its replacements."""
    return replace(view, **dict.fromkeys(GRAFTS, "trained"))


def replaced(config: Any, view: Any) -> list[ReplacedPart]:
    """Return what the view replaces, for the page."""
    return [
        ReplacedPart(ablation.SIGNS.get(name, name), IN_PLACE[how], PANEL)
        for name, how in wanted(config, view).items()
    ]


def model_shown(run: Run, view: Any) -> Model:
    """Return the model at the view's snapshot and seed, after the view's replacements."""
    row = row_of(run, view)
    trained = trained_at(run, run.snapshot_at(view), row)
    if not wanted(run.config, view):
        return trained
    start = trained_at(run, 0, row)
    return ablation.graft(trained, start, constructed_of(run), view, run.config)[0]


def weight_parts(run: Run, view: Any) -> list[Part]:
    """Return the parts of the model shown beside those of the construction: the symmetries
    normalised away, or after replacements all in the construction's units."""
    is_grafted = bool(wanted(run.config, view))
    return parts(run.config, model_shown(run, view), constructed_of(run), is_grafted)


def loss(run: Run, view: Any) -> float:
    """Return the loss of the model shown on held-out tasks; kept for a run with a digest, as a page
    asks for it again and again."""
    key = _key(run, view)
    known_loss = _LOSSES.get(key)
    if known_loss is None or not run.digest:
        if len(_LOSSES) >= MOST:
            _LOSSES.clear()  # another visitor's thread may do so at any time
        known_loss = float(models.losses(model_shown(run, view), held_out(run))[0])
        _LOSSES[key] = known_loss
    return known_loss


def after(run: Run, view: Any) -> tuple[float, float]:
    """Return the loss before and after the replacements that the view asks for."""
    return loss(run, as_trained(view)), loss(run, view)


def is_known(run: Run, view: Any) -> bool:
    """Return whether the loss takes no evaluation, or is that of the last snapshot."""
    return run.snapshot_at(view) == len(run.snapshot_steps) - 1 or _key(run, view) in _LOSSES


def held_out(run: Run) -> Tasks:
    """Return the tasks on which replacements are evaluated."""
    slow = 4 if run.config.recurrence == "full" else 1  # a decay an entry costs f times as much
    return train.held_out(run.config, (TASKS[0] // slow, TASKS[1] // slow)).to("cpu")


def in_title(run: Run, view: Any) -> str:
    """Return what is replaced as a title says it; empty if nothing is."""
    replacements = replaced(run.config, view)
    if len(replacements) > 2:
        return f"{len(replacements)} parts replaced"
    return in_words(replacements)


def _key(run: Run, view: Any) -> Hashable:
    """Return what a loss depends on."""
    parts_wanted = tuple(wanted(run.config, view).items())
    return run.digest, run.snapshot_at(view), row_of(run, view), parts_wanted
