"""Learned weights, decays and rates beside the constructed ones, the model's symmetries normalised
away (Figures 3 and 5)."""

from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import number_text
from icl_core.papers.gdssm.layer.draw import weights_maps as blocks
from icl_core.papers.gdssm.layer.draw.weights_parts import DECAYS, NUMBERS, RATE, Part, parts
from icl_core.papers.gdssm.shared.any_layer import Model
from icl_core.papers.gdssm.shared.load_run import constructed_of, row_of, trained_at

FREEDOMS = {
    "N-D": "Scale and sign can move freely among Q, q and β. So Q is divided by its entry (y, x), "
    "and q, the skip weights of Figure 3 C, by its last; the rate is β times both times the mean "
    "decay",
    "1-D": "The state has no basis of its own: Ψ → GΨ, Θ → G⁻ᵀΘ acts the same for any invertible "
    "G. So M = β Ψᵀ A Θ is compared, which is the same for all of them. It is in units of η/N, and "
    "the rate is on the diagonal of its upper right",
    "2": "Scales can move among b, Q, Q̃ and q, and the second layer can do part of the first "
    "one's work. So we show the sum Q̄ = b₁Q₁ + b₂Q₂, each matrix divided by its leading entry, "
    "and the rates as A and B of the prediction A G x − B G S x",
    "more": "Beyond two layers nobody has normalised the symmetries. So every matrix is divided "
    "by its largest entry. A skip, which is 0 in the construction, is shown as it is; rates mean "
    "nothing without their matrices and are left out",
}
LIMIT = 1.5  # of the scale, however large a quotient is before training


def draw(run: Run, view: Any) -> Panel:
    """Draw every part trained and constructed, and the difference, normalised or raw."""
    trained = trained_at(run, run.snapshot_at(view), row_of(run, view))
    constructed = constructed_of(run)
    compared = parts(run.config, trained, constructed, view.raw)
    shown = blocks.laid(compared)
    maps = chain.from_iterable(part.maps.values() for part in compared)
    limit = figures.largest_magnitude(*maps) if view.raw else LIMIT
    at = run.step(view)
    return Panel(
        f"Step {at}: {_distances(run, compared, view.raw)}",
        _caption(run, view.raw),
        blocks.figure(shown, limit),
        data=pd.concat([table(block) for block in shown], ignore_index=True),
        note=f"{_note(constructed, compared, view.raw)} Step {at}, seed {row_of(run, view) + 1}.",
    )


def _distances(run: Run, parts: list[Part], as_it_is: bool) -> str:
    """Say how far each kind of part is from the construction."""
    if as_it_is:
        away = number_text(max(part.away for part in parts), 2)
        return f"raw weights are up to {away} from the construction's numbers"
    kinds = dict.fromkeys(part.kind for part in parts)
    farthest = {kind: max(part.away for part in parts if part.kind == kind) for kind in kinds}
    if run.config.layers > 2:
        weights = number_text(farthest["weights"], 2)
        decays = number_text(farthest[DECAYS])
        return (
            f"every matrix over its largest entry, up to {weights} off; decays within {decays} of 1"
        )
    first, *others = ((kind, number_text(value)) for kind, value in farthest.items())
    return f"{first[0]} within {first[1]} of the construction" + "".join(
        f", {k} within {value}" for k, value in others
    )


def _caption(run: Run, as_it_is: bool) -> str:
    """Say what is normalised away, or that nothing is."""
    if as_it_is:
        rate = "The rates b are η/N of a layer each" if run.config.several else "β is η/N"
        left = (
            "every matrix divided by its largest entry"
            if run.config.layers > 2
            else "what is left of the difference"
        )
        return (
            f"The numbers as training left them. {rate} in the construction, and all decays are 1. "
            "They look unlike the construction and differ from seed to seed, because the model "
            f"acts the same with many weights. Switch this off to see {left}."
        )
    kind = "more" if run.config.layers > 2 else "2" if run.config.layers == 2 else run.config.model
    one = "; with one feature Q and Qᵀ act alike, so the two halves of Q are added" * (
        run.config.f == 1 and kind == "N-D"
    )
    undone = " The construction keeps the penalty; training undoes it by larger rates." * (
        run.config.penalty > 0
    )
    return (
        f"{FREEDOMS[kind]}{one}. A decay counts as the mean of a^(N − t) over the examples, 1 if "
        "none is forgotten. All maps share one scale. The difference should be empty; before "
        "training it is as strong as the learned weights themselves (colours end at "
        f"±1.5).{undone * (kind == '2')}"
    )


def _note(constructed: Model, parts: list[Part], as_it_is: bool) -> str:
    """Return decays and rates in words, with a digit more than the maps have."""
    sentences = []
    for part in (part for part in parts if part.kind in NUMBERS):
        low = number_text(float(part.trained.min()))
        high = number_text(float(part.trained.max()))
        word = "decay " * (part.kind == DECAYS and part.name != "decay")
        words = f"{word}{part.name} {low}" + (f" to {high}" if high != low else "")
        if part.kind == DECAYS and min(part.trained.shape) > 1:
            ends = (
                number_text(float(end))
                for end in (part.trained.mean(1).min(), part.trained.mean(1).max())
            )
            words += f" (the means of its rows, which Figure 3 B shows: {' to '.join(ends)})"
        if as_it_is and part.kind == RATE:
            words += f" (constructed: {number_text(float(part.constructed.max()))})"
        sentences.append(words)
    rate = constructed.tensors().get("beta")
    unit = f" η/N is {number_text(float(rate[0]))}." if rate is not None and not as_it_is else ""
    return f"{', '.join(sentences)}.{unit}"


def table(block: Part) -> pd.DataFrame:
    """Return a table with one row for every number of a block."""
    rows = np.repeat(block.rows, len(block.columns))
    columns = np.tile(block.columns, len(block.rows))
    flat = {name: matrix.ravel() for name, matrix in block.maps.items()}
    return pd.DataFrame({"part": block.name, "row": rows, "column": columns} | flat).round(4)
