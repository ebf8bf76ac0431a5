"""Learned weights beside the constructed ones, the model's symmetries normalised away (Figures 3 and 5)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.papers.gdssm.inspection import constructed_of, folded, moment_of, row_of, steps, trained_at, written
from icl_core.papers.gdssm.models import Model
from icl_core.papers.gdssm.symmetries import RATES, compare

COLUMNS = ("x", "y", "x⁺")
FREEDOMS = {
    "N-D": "Scale and sign pass freely among Q, q and β, so Q is shown over its entry (y, x) and q over its last",
    "1-D": "The state has no basis of its own: Ψ → GΨ, Θ → G⁻ᵀΘ acts the same for any invertible G. So only "
    "M = β Ψᵀ A Θ compares, in units of η/N",
    "2": "Scales pass among b, Q, Q̃ and q, and the second layer can do part of the first one's work; so the sum "
    "S = b₁Q₁ + b₂Q₂ is shown, and each matrix over its own leading entry",
    "more": "Beyond two layers nobody has normalised the symmetries, so every matrix is shown over its largest entry",
}
LIMIT = 1.5  # of the scale, however large a quotient is before training


@dataclass(frozen=True, eq=False)
class Stack:
    """Matrices of equally many columns, one under the other, with a name for each row and column."""

    trained: np.ndarray
    constructed: np.ndarray
    rows: list[str]
    columns: list[str]


def draw(run: Run, view: Any) -> Panel:
    """Trained, constructed and difference, normalised or raw."""
    moment, row = moment_of(run, view), row_of(run, view)
    trained, constructed = trained_at(run, moment, row), constructed_of(run)
    raw = view.raw or run.config.layers > 2
    trained = trained if raw else folded(trained, run.config.f)
    stack = _raw(trained, constructed) if raw else _normalised(trained, constructed, run.config.N)
    trained_map, constructed_map = stack.trained, stack.constructed
    limit = figures.largest(constructed_map, trained_map) if view.raw else LIMIT
    shown = (trained_map, constructed_map, trained_map - constructed_map)
    small = max(constructed_map.shape) <= 5  # numbers fit three maps in a row
    most = 20 if run.config.model == "N-D" else 10  # rows are named one by one, features can be counted
    figure = figures.maps(
        ("learned", "constructed", "difference"), shown, stack.rows, stack.columns, "entry", limit=limit,
        row_title="", columns=3, written=small, most=most,
    )  # fmt: skip
    return Panel(
        _title(run, moment, float(np.abs(shown[2]).max()), view.raw),
        _caption(run, view.raw),
        figure,
        data=pd.DataFrame(trained_map.round(4), index=stack.rows, columns=stack.columns),
        note=_note(trained, constructed, run) + f" Step {steps(run)[moment]}, seed {row + 1}.",
    )


def _title(run: Run, moment: int, away: float, raw: bool) -> str:
    at = f"Step {steps(run)[moment]}: "
    if raw:
        return f"{at}raw weights are up to {written(away, 2)} from the construction's numbers"
    if run.config.layers > 2:
        return f"{at}every matrix over its largest entry, up to {written(away, 2)} off"
    return f"{at}no entry is further than {written(away, 3)} from the construction"


def _caption(run: Run, raw: bool) -> str:
    if raw:
        return (
            "The numbers as training left them. They look unlike the construction, and differ from seed to seed, for "
            "the model cannot tell its symmetries apart. Switch this off to see what is left of the difference."
        )
    kind = "more" if run.config.layers > 2 else "2" if run.config.layers == 2 else run.config.model
    one = (
        "; with one feature Q and Qᵀ act alike, so its halves are added" if run.config.f == 1 and kind == "N-D" else ""
    )
    return (
        f"{FREEDOMS[kind]}{one}. All three maps have one scale. The difference should be empty; before training it is "
        "as strong as the learned weights themselves (colours end at ±1.5)."
    )


def _note(trained: Model, constructed: Model, run: Run) -> str:
    if run.config.layers > 2:
        return ""
    said = []
    for each in compare(trained, constructed, run.config.N):
        if each.name in ("rate", "A", "B"):
            ours, name = each.trained / each.unit, {"rate": "Rate, as a multiple of η/N"}.get(each.name, each.name)
            low, high = written(float(ours.min()), 3), written(float(ours.max()), 3)
            words = f"{name}: {low}" + (f" to {high}" if high != low else "")
            said.append(words + ("" if each.name == "rate" else " of the constructed"))
    return ". ".join(said) + "." if said else ""


def _normalised(trained: Model, constructed: Model, N: int) -> Stack:
    found = {each.name: each for each in compare(trained, constructed, N)}
    if "M" in found:
        ours, theirs = found["M"].trained[0] / found["M"].unit, found["M"].constructed / found["M"].unit
        names = _halves(len(ours) // 2, "x y", "x⁺")
        return Stack(ours.numpy(), theirs.numpy(), names, names)
    pairs = {n: (each.trained[0], each.constructed) for n, each in found.items() if n not in RATES}
    return _stacked({n.replace("_tilde", "̃").replace("_1", "₁"): pair for n, pair in pairs.items()})


def _raw(trained: Model, constructed: Model) -> Stack:
    ours, theirs = trained.tensors(), constructed.tensors()
    if "Psi" in ours:
        both = [torch.cat((each["Psi"][0], each["Theta"][0])).numpy() for each in (ours, theirs)]
        f = len(both[0]) // 2
        return Stack(both[0], both[1], _halves(f, "Ψ", "Θ"), _halves(f, "x y", "x⁺"))
    names = [name for name in ("Q", "Q_tilde", "q", "skip") if name in ours]
    pairs: dict[str, tuple[Tensor, Tensor]] = {}
    for name in names:
        first, second = ours[name][0], theirs[name][0]
        if first.dim() < 3:
            pairs[name] = first, second
        for place in range(len(first) if first.dim() == 3 else 0):
            layer = place + (2 if name == "Q_tilde" else 1)
            pairs[f"{name[0]}{'̃' * (name != 'Q')}{'₁₂₃₄'[layer - 1]}"] = first[place], second[place]
    several = len(ours["q"][0]) == 3 and "b" in ours and ours["b"].shape[1] > 2
    return _stacked({n: (_over_largest(a), b) for n, (a, b) in pairs.items()} if several else pairs)


def _over_largest(matrix: Tensor) -> Tensor:
    return matrix / matrix.flatten()[matrix.abs().argmax()]


def _stacked(pairs: dict[str, tuple[Tensor, Tensor]]) -> Stack:
    """Matrices of 3 columns and vectors of at most 3, under one another."""
    rows, both = [], ([], [])
    for name, pair in pairs.items():
        count = 1 if pair[0].dim() == 1 else len(pair[0])
        rows += [name] if count == 1 else [f"{name} {column}" for column in COLUMNS]
        for kept, each in zip(both, pair, strict=True):
            kept.append(np.pad(each.reshape(count, -1).numpy(), ((0, 0), (0, 3 - each.shape[-1])), constant_values=0))
    return Stack(np.concatenate(both[0]), np.concatenate(both[1]), rows, list(COLUMNS))


def _halves(f: int, first: str, second: str) -> list[str]:
    return [f"{half} {i + 1}" for half in (first, second) for i in range(f)]
