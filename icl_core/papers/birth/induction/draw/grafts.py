"""Surgery: any matrix of the model replaced by its construction, its initial value or zero, and
what that does; the score of an explanation, as bars."""

import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.papers.birth.induction import placeholders
from icl_core.papers.birth.induction.grafted import achieved, graft
from icl_core.papers.birth.induction.load_run import origin, weights_at
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.induction.words import WORDS
from icl_core.papers.birth.shared.draw import NAMES


def draw(run: Run, view: View) -> Panel:
    """Draw the in-context accuracy before and after the grafts that the view asks for."""
    labels = [origin(run), "after the graft"]
    _, phrases = graft(run, weights_at(run, run.snapshot_at(view)), view)
    before = achieved(run, View(snapshot=view.snapshot))
    after = achieved(run, view)
    values, errors = ([before[name], after[name]] for name in ("accuracy", "accuracy_error"))
    kinds = ["trained", "construction" if phrases else "trained"]
    figure = figures.bars(
        labels, values, "in-context accuracy", errors=errors, kinds=kinds, y_range=(0, 1.05)
    )
    return WORDS.panel(
        "graft",
        run,
        view,
        figure,
        data=pd.DataFrame([before, after], index=labels).T,
        parts=", ".join(f"{NAMES[name]} → {phrase}" for name, phrase in phrases.items()),
        fitted=any("×" in phrase for phrase in phrases.values()),
        loss=before["in_context_loss"],
        loss_left=after["in_context_loss"],
        loss_changes=after["in_context_loss"] != before["in_context_loss"],
        global_loss=before["global_loss"],
        global_loss_left=after["global_loss"],
        global_loss_changes=after["global_loss"] != before["global_loss"],
    )


def score(run: Run, view: View) -> Panel:
    """Draw what is kept of accuracy and logits with constructed matrices in place of the model's
    own."""
    snapshot = run.snapshot_at(view)
    shares = placeholders.kept(run, snapshot)
    labels = []
    values = []
    errors = []
    kinds = []
    for name, share in shares.items():
        label = NAMES.get(name, {placeholders.CLEANED: "all, without cross-talk"}.get(name, name))
        labels += [label, f"{label}: logits"]
        values += [share.accuracy, share.logits]
        errors += [share.error, 0.0]
        kinds += ["construction", figures.colour("seed")]
    return WORDS.panel(
        "score",
        run,
        view,
        figures.bars(labels, values, "share kept", errors=errors, kinds=kinds, y_range=(0, 1.1)),
        data=pd.DataFrame({"stands in": labels, "share kept": values, "standard error": errors}),
        together=shares[placeholders.TOGETHER].accuracy,
        cleaned=shares[placeholders.CLEANED].accuracy,
    )
