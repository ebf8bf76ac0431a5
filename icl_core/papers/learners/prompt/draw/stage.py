"""One prompt as it is read: its pairs, the weights of every learner, their errors and states."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Trace
from icl_core.figures import Curve, number_text
from icl_core.figures.style import FAINT, INK
from icl_core.in_context_regression.untrained import Learner
from icl_core.papers.learners.prompt.draw.style import STYLES, capitalised, share_text
from icl_core.papers.learners.prompt.load_run import (
    Shown,
    members,
    pairs_read,
    shown,
    where,
)
from icl_core.papers.learners.prompt.settings import View
from icl_core.papers.learners.shared.plane import (
    STAR,
    add_mark,
    add_pairs,
    frame,
    plane,
    titles_of_pairs,
    two,
)

LEAST, LARGEST = 1e-4, 10.0  # the ends of the axis of errors
REACH = 1.35  # of a plane's picture over what it must hold
CIRCLE = np.linspace(0, 2 * np.pi, 73)
DEVIATIONS = 2.0  # of the posterior's ellipse
MARK, NEWEST = 12, 18  # pixels of a mark, and of the newest pair's
NAMES = 104  # pixels of the names of learners beside a map
TO_COME = 0.15  # opacity of pairs that are still to come


def errors(run: Run, view: View) -> Panel:
    """Draw the error of every learner on the prompt after each pair."""
    prompt = shown(run, view)
    read = pairs_read(run, view)
    x = np.arange(len(prompt.x) + 1)
    series = [
        Curve(learner.short, x, np.clip(prompt.errors[learner.id], LEAST, None), *_line(learner.id))
        for learner in members(run, view)
    ]
    left = {learner.short: prompt.errors[learner.id][read] for learner in members(run, view)}
    best = min(left, key=lambda name: left[name])
    worst = max(left, key=lambda name: left[name])
    texts = [share_text(float(left[name])) for name in (best, worst)]
    figure = figures.curves(
        series,
        "pairs read",
        "share left",
        log_y=True,
        y_range=(_lower_end(prompt), LARGEST),
        at=read,
        height=figures.SEAT,
    )
    return Panel(
        f"After {_pairs(read)} {best} leaves {texts[0]}, {worst} {texts[1]}"
        if read
        else f"Zero weights leave {texts[0]}",
        "The error on this prompt after each pair, over that of predicting zero on prompts of "
        "home. A line at the bottom has less than 0.0001, one that leaves at the top more than 10. "
        "Solvers fall at once when pairs suffice for the noise, states fall pair by pair. No line "
        "is below Bayes on average; on one prompt it may be.",
        figures.seated(figure, figures.WIDE),
        data=pd.DataFrame(
            {"pairs": x} | {learner.id: prompt.errors[learner.id] for learner in members(run, view)}
        ),
        note=where(run, view),
    )


def weights(run: Run, view: View) -> Panel:
    """Draw the weights of every learner in the plane of the first two features, with the ellipse
    that Bayes leaves for w*."""
    prompt = shown(run, view)
    read = pairs_read(run, view)
    figure = plane("w₁", "w₂") if run.config.d > 1 else plane("w", "")
    ellipse = _ellipse(prompt, read)
    figure.add_scatter(
        x=ellipse[:, 0],
        y=ellipse[:, 1],
        mode="lines",
        line={"color": FAINT, "width": 2, "dash": "dot"},
        fill="toself",
        fillcolor=figures.colour("floor"),
        opacity=0.12,
        name="posterior",
        hoverinfo="skip",
        showlegend=False,
    )
    for learner in members(run, view):
        path = two(prompt.learned[learner.id])
        figure.add_traces(_path(learner.id, learner.short, path, read))
    target = two(prompt.w)
    add_mark(figure, target, "w*", STAR)
    frame(figure, _extent(prompt, run, view), REACH)
    nearest = _nearest(prompt, members(run, view), read)
    distance = float(np.linalg.norm(prompt.learned[nearest.id][read] - prompt.w))
    return Panel(
        f"{capitalised(nearest.short)} is nearest to w*, {number_text(distance, 2)} away"
        if read
        else "All weights begin at zero",
        "Every mark is a learner's weights after the pairs read, with its path from zero behind "
        f"it; the star is w*. {_region(run.config.d)} shrinks pair by pair. A learner outside of "
        "it ignores what the pairs say; one that is not in the picture is far away."
        + (" Of more features the first two are drawn." if run.config.d > 2 else ""),
        figures.seated(figure),
        data=pd.DataFrame(
            [
                {"learner": learner.short, "pairs": t, **dict(_coordinates(row))}
                for learner in members(run, view)
                for t, row in enumerate(prompt.learned[learner.id])
            ]
        ),
        note=where(run, view),
    )


def pairs_drawn(run: Run, view: View) -> Panel:
    """Draw the pairs of the prompt: x in the plane and y as a colour, or with one feature y over
    x. With one or two features they can be dragged."""
    prompt = shown(run, view)
    read = pairs_read(run, view)
    d = run.config.d
    order = np.arange(len(prompt.x))
    marker = {
        "size": np.where(order == read - 1, NEWEST, MARK),
        "opacity": np.where(order < read, 1.0, TO_COME),
    }
    figure = plane(*titles_of_pairs(d))
    add_pairs(figure, prompt.x, prompt.y, prompt.w, marker, REACH)
    data = pd.DataFrame(prompt.x, columns=[f"x{i + 1}" for i in range(d)])
    data["y"] = prompt.y
    return Panel(
        f"{read} of {_pairs(len(order))} read",
        f"{_what_dots_are(d)} The newest is largest; those to come are faint. "
        + ("Drag a pair, or type" if d <= 2 else "Type")
        + " pairs of your own in “This prompt”: "
        + ("0.5 1: 2; -0.8 0: -1.4." if d == 2 else "x, a colon, y; pairs end with a semicolon."),
        figures.seated(figure),
        data=data,
        note=where(run, view),
    )


def _what_dots_are(d: int) -> str:
    """Return what a pair's dot shows and what a learner has to find, for a caption."""
    if d == 1:
        return "Each dot is a pair: x across, y up. The learners must find the slope."
    first_two = " (of more features the first two are drawn)" if d > 2 else ""
    return (
        f"Each dot is a pair: where it lies is x{first_two}, its colour is y. The learners must "
        "find the direction in which y grows, and how fast."
    )


def states(run: Run, view: View) -> Panel:
    """Draw the weights of every learner beside the gradient at zero and w*."""
    prompt = shown(run, view)
    read = pairs_read(run, view)
    shown_learners = members(run, view)
    rows = {
        "w*": prompt.w,
        "−gradient": prompt.b[read],
        **{learner.short: prompt.learned[learner.id][read] for learner in shown_learners},
    }
    matrix = np.array(list(rows.values()))
    limit = 1.5 * float(np.abs(prompt.w).max()) or 1.0
    columns = [f"{i + 1}" for i in range(run.config.d)]
    nearest = _nearest(prompt, shown_learners, read)
    away = float(np.abs(prompt.learned[nearest.id][read] - prompt.w).max())
    return Panel(
        f"{capitalised(nearest.short)} is within {number_text(away, 2)} of w*"
        if read
        else "Before the first pair all rows but w* are empty",
        "A row is a vector of weights, a column a feature. The first row is what is sought, the "
        "second the gradient at zero with its sign turned, which is all that a sum of y x holds. "
        "A learner that is right has the first row's colours. The title names the one nearest to "
        "w*, and the largest difference of one of its weights.",
        figures.seated(
            figures.small_map(
                np.clip(matrix, -limit, limit),
                (list(rows), columns),
                ("learner", "feature"),
                "weight",
                limit,
            )
        ).update_layout(margin={"l": NAMES}, yaxis={"title": {"text": ""}}),
        data=pd.DataFrame(matrix, index=list(rows), columns=columns).reset_index(),
        note=where(run, view),
    )


def _nearest(prompt: Shown, learners: list[Learner], read: int) -> Learner:
    """Return the learner whose weights after the pairs read are nearest to w*."""
    return min(
        learners,
        key=lambda learner: float(np.linalg.norm(prompt.learned[learner.id][read] - prompt.w)),
    )


def _pairs(count: int) -> str:
    return "1 pair" if count == 1 else f"{count} pairs"


def _region(d: int) -> str:
    """Return what the ellipse of two deviations is, for a caption."""
    if d == 1:
        return "The line across holds w* with 95% probability, as Bayes has it, and"
    return "The grey ellipse holds w* with 86% probability, as Bayes has it, and"


def _lower_end(prompt: Shown) -> float:
    """Return the lower end of the axis of errors, a power of ten below all that are not tiny."""
    smallest = min(float(errors.min()) for errors in prompt.errors.values())
    return float(np.clip(10.0 ** np.floor(np.log10(max(smallest, LEAST))), LEAST, 0.1))


def _line(id: str) -> tuple[str, str]:
    kind, dash, _ = STYLES[id]
    return kind, dash


def _coordinates(row: np.ndarray) -> list[tuple[str, float]]:
    return [(f"w{i + 1}", float(value)) for i, value in enumerate(row)]


def _extent(prompt: Shown, run: Run, view: View) -> np.ndarray:
    """Return points [points, 2] that the picture must hold: zero, w*, where every learner ends,
    without those that are far away, and the ellipse. They are the same after every pair."""
    target = two(prompt.w)
    ends = np.stack([two(prompt.learned[learner.id][-1]) for learner in members(run, view)])
    reach = 2.5 * max(float(np.abs(target).max()), 0.2)
    near = ends[np.abs(ends).max(1) < reach]
    return np.concatenate([near, _ellipse(prompt, len(prompt.x)), [target, np.zeros(2)]])


def _ellipse(prompt: Shown, read: int) -> np.ndarray:
    """Return the ellipse that holds the first two features of w* with 86 % probability, [points,
    2]."""
    covariance = prompt.posterior[read]
    if len(covariance) == 1:
        covariance = np.diag([covariance[0, 0], 0.0])
    values, vectors = np.linalg.eigh(covariance[:2, :2])
    circle = np.stack([np.cos(CIRCLE), np.sin(CIRCLE)])
    radii = DEVIATIONS * np.sqrt(np.clip(values, 0, None))
    centre = two(prompt.learned["bayes"][read])
    return centre + (vectors @ (radii[:, None] * circle)).T


def _path(id: str, name: str, path: np.ndarray, read: int) -> list[Trace]:
    """Return a learner's path from zero to the pairs read, and its mark."""
    kind, dash, symbol = STYLES[id]
    points = np.where(np.arange(len(path))[:, None] <= read, path, np.nan)
    line = Trace(
        x=points[:, 0],
        y=points[:, 1],
        mode="lines",
        line={"color": figures.colour(kind), "width": 1.2, "dash": dash or "solid"},
        opacity=0.45,
        name=name,
        showlegend=False,
        hoverinfo="skip",
    )
    mark = Trace(
        x=path[read : read + 1, 0],
        y=path[read : read + 1, 1],
        mode="markers",
        marker={
            "symbol": symbol,
            "size": MARK,
            "color": figures.colour(kind),
            "line": {"color": INK, "width": 1},
        },
        name=name,
        hovertemplate=f"{name}: %{{x:.3f}}, %{{y:.3f}}<extra></extra>",
    )
    return [line, mark]
