"""Surgery: a part of the trained model replaced by its construction, its initial value or zero.

The models cannot tell the scales of their parts apart, so the trained model is first brought into
the construction's units, in which it acts as before; a part that is put in then fits without a
factor. What two layers may share between them in many ways, the construction is made to share as
the trained model does.
"""

from typing import Any

import torch
from torch import Tensor

from icl_core.contract.knobs import knobs_of
from icl_core.papers.gdssm.layer.settings import PARTS, View
from icl_core.papers.gdssm.layer.symmetries import mean_decay, shared_as
from icl_core.papers.gdssm.shared.any_layer import Model
from icl_core.papers.gdssm.shared.layer_1d import Layer1D
from icl_core.papers.gdssm.shared.layer_nd import LayerND
from icl_core.papers.gdssm.shared.load_run import folded
from icl_core.papers.gdssm.shared.multi_layer import MultiLayer

KINDS = ("one", "scalar", "several")  # one N-D layer, the 1-D layer, several layers
FIELDS = {  # by part, of the view: "one_a"
    kind: {
        name.removeprefix(f"{kind}_"): name
        for name in knobs_of(View)
        if name.startswith(f"{kind}_")
    }
    for kind in KINDS
}
SIGNS = {"a": "A", "a_tilde": "Ã", "Psi": "Ψ", "Theta": "Θ", "beta": "β", "Q_tilde": "Q̃"}


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
