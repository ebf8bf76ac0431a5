"""The 1-D layer's Ψ and Θ beside the construction's (eqs. 12 to 16), in the basis of the state in
which Ψ begins with the identity."""

from typing import Any

import pandas as pd

from icl_core.contract.experiment import Panel, Run
from icl_core.figures import number_text
from icl_core.papers.gdssm.layer.ablation import in_units
from icl_core.papers.gdssm.layer.draw import weights_maps as blocks
from icl_core.papers.gdssm.layer.draw.weights import LIMIT, table
from icl_core.papers.gdssm.layer.draw.weights_parts import WEIGHTS, parts
from icl_core.papers.gdssm.shared.load_run import constructed_of, row_of, trained_at

UNEQUAL = (
    "As the decays differ from entry to entry of the state, another basis leaves M = β Ψᵀ A Θ "
    "exactly as it is, and the predictions nearly. "
)


def draw(run: Run, view: Any) -> Panel:
    """Draw Ψ and Θ, [f, 2f] each, trained, constructed and their difference, on one scale."""
    row = row_of(run, view)
    at = run.step(view)
    trained = in_units(trained_at(run, run.snapshot_at(view), row), run.config.N)
    every = parts(run.config, trained, constructed_of(run), raw=True)
    pair = [part for part in every if part.kind == WEIGHTS]
    Psi, Theta = (number_text(part.away, 2) for part in pair)
    return Panel(
        f"Step {at}: in one basis Ψ is within {Psi} of the construction, Θ within {Theta}",
        "Ψ picks what of a token [x y, next x] enters the state, and Θ what of the last token "
        "reads it. Their rows depend on the state's basis, which is arbitrary. Here it is the one "
        "in which Ψ begins with the identity, as in the construction, and Θ's scale is left to β. "
        "Each map should be one diagonal: Ψ takes x y alone, and Θ the next x alone. A layer that "
        "mixed the two would fill the other halves, as before training (colours end at ±1.5).",
        blocks.figure(pair, LIMIT),
        data=pd.concat([table(part) for part in pair], ignore_index=True),
        note="Ψ's first half is the identity by choice of the basis; what training found stands in "
        f"the other three halves. {UNEQUAL * (run.config.recurrence == 'row')}Step {at}, seed "
        f"{row + 1}.",
    )
