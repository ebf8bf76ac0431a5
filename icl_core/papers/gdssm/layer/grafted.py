"""The model that the stage shows: the trained one, or one with a part replaced by its construction,
its initial value or zero.

The models cannot tell the scales of their parts apart, so the trained model is first brought into
the construction's units, in which it acts as before; a part that is put in then fits without a
factor. What two layers may share between them in many ways, the construction is made to share as
the trained model does.
"""

from collections.abc import Hashable
from dataclasses import replace
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from icl_core.contract.experiment import Run
from icl_core.contract.knobs import knobs_of
from icl_core.contract.visitor import IN_PLACE, ReplacedPart, in_words
from icl_core.papers.gdssm.layer.settings import PARTS, View
from icl_core.papers.gdssm.layer.symmetries import Part, compared_parts, mean_decay, shared_as
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import train
from icl_core.papers.gdssm.shared.any_layer import Model
from icl_core.papers.gdssm.shared.layer_1d import Layer1D
from icl_core.papers.gdssm.shared.layer_nd import LayerND
from icl_core.papers.gdssm.shared.load_run import constructed_of, folded, row_of, trained_at
from icl_core.papers.gdssm.shared.multi_layer import MultiLayer
from icl_core.papers.gdssm.shared.task import Tasks

KINDS = ("one", "scalar", "several")  # one N-D layer, the 1-D layer, several layers
FIELDS = {  # by part, of the view: "one_a"
    kind: {
        name.removeprefix(f"{kind}_"): name
        for name in knobs_of(View)
        if name.startswith(f"{kind}_")
    }
    for kind in KINDS
}
GRAFTS = tuple(chain.from_iterable(fields.values() for fields in FIELDS.values()))
SIGNS = {"a": "A", "a_tilde": "Ã", "Psi": "Ψ", "Theta": "Θ", "beta": "β", "Q_tilde": "Q̃"}
PANEL = "weights"  # of the stage
TASKS = (2**12, 2**19)  # held-out tasks at most, and numbers of x at most: an answer in 0.3 s
MOST = 200  # losses kept
_LOSSES: dict[Hashable, float] = {}


def kind_of(config: Any) -> str:
    """Return which of the three models it is: "one", "scalar" or "several"."""
    return "several" if config.several else "scalar" if config.model == "1-D" else "one"


def fields_of(config: Any) -> dict[str, str]:
    """Return which field of the view asks for a replacement of which part, by part."""
    return FIELDS[kind_of(config)]


def graft(
    trained: Model, start: Model, constructed: Model, view: Any, config: Any
) -> tuple[Model, dict[str, str]]:
    """Return the trained model after the replacements that the view asks for, and a word for each
    of them by part."""
    fields = fields_of(config)
    parts = trained.tensors()
    replacements = {
        name: getattr(view, fields[name])
        for name in parts
        if getattr(view, fields[name]) != "trained"
    }
    if not replacements:
        return trained, {}
    trained = folded(trained, config.f)
    start = folded(start, config.f)
    sizes = units(trained, config.N)
    own, first = (_times(sizes, model) for model in (trained, start))
    theirs = shared_as(constructed, trained.with_(**own), config.N).tensors()
    nothing = {name: torch.zeros_like(part) for name, part in own.items()}
    sources = {"constructed": theirs, "initial": first, "zero": nothing}
    grafts = {name: sources[how][name] for name, how in replacements.items()}
    words = {name: PARTS[how] for name, how in replacements.items()}
    return trained.with_(**{**own, **grafts}), words


def units(weights: Model, N: int) -> dict[str, Tensor]:
    """Return what every part is multiplied with, from the left if a matrix for every seed, to stand
    in the units of the construction; what is not named stays. The model acts as before: exactly,
    but for the time course of unequal decays in the 1-D model."""
    if isinstance(weights, LayerND):  # Q[1, 0] = q[2] = 1
        Q = weights.Q[:, 1, 0]
        q = weights.q[:, 2]
        return {"Q": (1 / Q)[:, None, None], "q": (1 / q)[:, None], "beta": Q * q}
    return _units_1d(weights, N) if isinstance(weights, Layer1D) else _units_layers(weights)


def in_units(weights: Model, N: int) -> Model:
    """Return the model in the units of the construction, as `units` has them."""
    return weights.with_(**_times(units(weights, N), weights))


def _units_1d(weights: Layer1D, N: int) -> dict[str, Tensor]:
    """Return the units in which Psi = [I ...] and Theta's second half has a diagonal of mean 1; M
    of `symmetries.product` stays what it is."""
    f = weights.Psi.shape[1]
    first = weights.Psi[:, :, :f]  # (seeds, f, f)
    decay = mean_decay(weights.a, N)  # (seeds, f or 1)
    turn = first.mT * decay[:, None] / decay[..., None]
    size = (turn @ weights.Theta)[:, :, f:].diagonal(dim1=1, dim2=2).mean(1)
    return {"Psi": torch.linalg.inv(first), "Theta": turn / size[:, None, None], "beta": size}


def _units_layers(weights: MultiLayer) -> dict[str, Tensor]:
    """Return the units in which q[2] = Q_1[1, 0] = 1, and Q~_l[0, 0] = 1 of later layers, unless
    the penalty sets the scale of b_l."""
    q = weights.q[:, 2]
    lead = weights.Q[:, :1, 1, 0] * q[:, None]  # (seeds, 1)
    tilde = weights.Q_tilde[:, :, 0, 0]
    later = tilde if weights.penalty == 0 else torch.ones_like(tilde)
    rates = torch.cat((lead, later), 1)  # (seeds, L): b_l gains them
    Q = (q[:, None] / rates)[..., None, None]
    Q_tilde = (1 / later)[..., None, None]
    return {"q": (1 / q)[:, None], "b": rates, "Q": Q, "Q_tilde": Q_tilde}


def _times(sizes: dict[str, Tensor], model: Model) -> dict[str, Tensor]:
    """Return the model's parts in the given units, by name."""
    parts = model.tensors()
    for name, size in sizes.items():
        parts[name] = size @ parts[name] if name in ("Psi", "Theta") else size * parts[name]
    return parts


def wanted(config: Any, view: Any) -> dict[str, str]:
    """Return what the view puts in place of each part that the model has and the view replaces."""
    parts = {name: getattr(view, field) for name, field in fields_of(config).items()}
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
        ReplacedPart(SIGNS.get(name, name), IN_PLACE[how], PANEL)
        for name, how in wanted(config, view).items()
    ]


def model_shown(run: Run, view: Any) -> Model:
    """Return the model at the view's snapshot and seed, after the view's replacements."""
    row = row_of(run, view)
    trained = trained_at(run, run.snapshot_at(view), row)
    if not wanted(run.config, view):
        return trained
    start = trained_at(run, 0, row)
    return graft(trained, start, constructed_of(run), view, run.config)[0]


def weight_parts(run: Run, view: Any) -> list[Part]:
    """Return the parts of the model shown beside those of the construction: the symmetries
    normalised away, or after replacements all in the construction's units."""
    is_grafted = bool(wanted(run.config, view))
    return compared_parts(run.config, model_shown(run, view), constructed_of(run), is_grafted)


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
