"""Surgery: any matrix of the model replaced by its construction, its initial value or zero, and
what that does."""

import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import number_text
from icl_core.papers.birth.induction.grafted import achieved, graft
from icl_core.papers.birth.induction.load_run import at_step, origin, weights_at
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.shared.draw import NAMES


def draw(run: Run, view: View) -> Panel:
    """In-context accuracy and global loss before and after the grafts that the view asks for."""
    labels = [origin(run), "after the graft"]
    _, factors = graft(run, weights_at(run, run.snapshot_at(view)), view)
    as_it_is = View(snapshot=view.snapshot)
    before, after = (achieved(run, each) for each in (as_it_is, view))
    values, errors = (
        [each[name] for each in (before, after)] for name in ("accuracy", "accuracy_error")
    )
    kinds = ["trained", "construction" if factors else "trained"]
    figure = figures.bars(
        labels, values, "in-context accuracy", errors=errors, kinds=kinds, y_range=(0, 1.05)
    )
    return Panel(
        _title(before, after, factors),
        "Choose what to put in place of a matrix. If the construction captures what the matrix "
        "holds, accuracy stays. If a matrix does nothing, zero changes nothing. The bars carry "
        "one standard error. What several constructions lose together is cross-talk, the subject "
        "of “The induction head constructed”.",
        figure,
        data=pd.DataFrame([before, after], index=labels).T,
        note=f"{at_step(run, view)}. {_losses(before, after)}{_factors(factors)}",
    )


def _title(before: dict[str, float], after: dict[str, float], phrases: dict[str, str]) -> str:
    if not phrases:
        return f"Nothing replaced: accuracy {before['accuracy']:.1%}"
    what = ", ".join(f"{NAMES[name]} → {phrase}" for name, phrase in phrases.items())
    said_too = (
        f", loss elsewhere {number_text(before['global_loss'], 1)} → "
        f"{number_text(after['global_loss'], 1)} nats"
        if "W_F" in phrases
        else ""
    )
    return f"{what}: accuracy {before['accuracy']:.1%} → {after['accuracy']:.1%}{said_too}"


def _losses(before: dict[str, float], after: dict[str, float]) -> str:
    """In nats, where the context tells the next character and where bigrams do."""
    inside, elsewhere = (
        number_text(before[name]) + f" → {number_text(after[name])}" * (after[name] != before[name])
        for name in ("in_context_loss", "global_loss")
    )
    return (
        f"Loss where only the context tells the next character: {inside} nats. Loss elsewhere: "
        f"{elsewhere} nats."
    )


def _factors(phrases: dict[str, str]) -> str:
    fitted = any("×" in phrase for phrase in phrases.values())
    return (
        " A construction's scale is free: its factor is fitted by least squares." if fitted else ""
    )
