"""The score of an explanation, as bars."""

import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.papers.birth.induction import placeholders
from icl_core.papers.birth.induction.load_run import at_step
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.shared.draw import NAMES


def score(run: Run, view: View) -> Panel:
    """Draw what is kept of accuracy and logits with constructed matrices in place of the model's
    own."""
    snapshot = run.snapshot_at(view)
    shares = placeholders.kept(run, snapshot)
    labels = []
    values = []
    errors = []
    kinds = []
    for name, each in shares.items():
        label = NAMES.get(name, {placeholders.CLEANED: "all, without cross-talk"}.get(name, name))
        labels += [label, f"{label}: logits"]
        values += [each.accuracy, each.logits]
        errors += [each.error, 0.0]
        kinds += ["construction", figures.colour("seed")]
    all_three = shares[placeholders.TOGETHER]
    cleaned = shares[placeholders.CLEANED]
    return Panel(
        f"All constructed, {all_three.accuracy:.0%} of the accuracy stays; without cross-talk, "
        f"{cleaned.accuracy:.0%}",
        "What the explanation accounts for: constructed matrices stand in for the model's own, "
        "each alone, then all together, then all without their cross-talk. Orange is the share of "
        "the model's accuracy that stays; pale, the share of its logits' variance. If the model "
        "were the construction and no more, every bar would be at one.",
        figures.bars(labels, values, "share kept", errors=errors, kinds=kinds, y_range=(0, 1.1)),
        note=f"{at_step(run, view)}. Each construction is scaled by one factor, which fits its "
        "readings to the model's. Logits may differ by one factor in all.",
        data=pd.DataFrame({"stands in": labels, "share kept": values, "standard error": errors}),
    )
