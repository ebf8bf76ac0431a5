"""Surgery: any matrix of the model replaced by its construction, its initial value or zero, and
what that does."""

import pandas as pd
import torch

from icl_core import figures
from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.papers.birth.induction.beside_construction import compare
from icl_core.papers.birth.induction.load_run import at_step, origin, weights_at
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.shared.draw import NAMES
from icl_core.papers.birth.shared.gradient import evaluate
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.train import held_out, task_of

POSITIONS = 2**14  # held-out positions a graft is evaluated on


def draw(run: Run, view: View) -> Panel:
    """In-context accuracy and global loss before and after the grafts that the view asks for."""
    snapshot, labels = run.snapshot_at(view), [origin(run), "after the graft"]
    trained = weights_at(run, snapshot)
    operated, factors = graft(run, trained, view)
    before, after = (_evaluated(run, weights) for weights in (trained, operated))
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


def after(run: Run, view: View) -> dict[str, float]:
    """What the model achieves after the grafts that the view asks for."""
    return _evaluated(run, graft(run, weights_at(run, run.snapshot_at(view)), view)[0])


def _evaluated(run: Run, weights: Weights) -> dict[str, float]:
    batch = held_out(task_of(run.config), POSITIONS // run.config.T, "cpu")
    return evaluate(weights, batch, run.config.layers)


def graft(run: Run, trained: Weights, view: View) -> tuple[Weights, dict[str, str]]:
    """The weights after the replacements that the view asks for, and a phrase for each.
    `CannotDraw` where there is no initial value."""
    parts, said = {}, {}
    for name, matrix in trained.trained().items():
        if f"snapshot/{name}" not in run.tensors:
            continue  # one layer has no W_K1
        wanted = getattr(view, f"graft_{name}")
        if wanted == "zero":
            parts[name], said[name] = torch.zeros_like(matrix), "zero"
        elif wanted == "initial":
            if not run.config.trains:
                raise CannotDraw("matrices that were given have no initial value")
            parts[name], said[name] = torch.tensor(run.snapshot(name, 0)), "initial value"
        elif wanted == "constructed":
            found = compare(name, trained, run.config)
            factor = found.aligned.factor * view.strength
            parts[name], said[name] = factor * found.matrix, f"construction × {factor:.3g}"
    return trained.with_(**parts), said


def _title(before: dict[str, float], after: dict[str, float], said: dict[str, str]) -> str:
    if not said:
        return f"Nothing replaced: accuracy {before['accuracy']:.1%}"
    what = ", ".join(f"{NAMES[name]} → {phrase}" for name, phrase in said.items())
    said_too = (
        f", loss elsewhere {before['global_loss']:.1f} → {after['global_loss']:.1f} nats"
        if "W_F" in said
        else ""
    )
    return f"{what}: accuracy {before['accuracy']:.1%} → {after['accuracy']:.1%}{said_too}"


def _losses(before: dict[str, float], after: dict[str, float]) -> str:
    """In nats, where the context tells the next character and where bigrams do."""
    inside, elsewhere = (
        f"{before[name]:.3f}" + f" → {after[name]:.3f}" * (after[name] != before[name])
        for name in ("in_context_loss", "global_loss")
    )
    return (
        f"Loss where only the context tells the next character: {inside} nats. Loss elsewhere: "
        f"{elsewhere} nats."
    )


def _factors(said: dict[str, str]) -> str:
    fitted = any("×" in phrase for phrase in said.values())
    return (
        " A construction's scale is free: its factor is fitted by least squares." if fitted else ""
    )
