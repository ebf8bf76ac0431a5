"""Every learner in a table, what each leaves on average and off home, who acts like whom, and what
each answers to changed prompts."""

import numpy as np
import pandas as pd
from torch import Tensor

from icl_core import figures
from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.figures import Curve, number_text
from icl_core.figures.style import NONE_TO_ALL, colourscale
from icl_core.in_context_regression.changes import CHANGES, exact
from icl_core.in_context_regression.home import one_step_share, sum_share
from icl_core.in_context_regression.recent_rules import multiplications
from icl_core.in_context_regression.untrained import EVERY_RULE
from icl_core.papers.learners.prompt.load_run import (
    learners_of,
    members,
    place,
    settings_of,
    share_left,
    shown,
)
from icl_core.papers.learners.prompt.settings import CHANGED, View
from icl_core.papers.learners.prompt.words import WORDS, capitalised, share_text

# a colour's name, a dash and a symbol of each learner
STYLES = {
    "sum": ("gradient descent", "dash", "circle-open"),
    "gd": ("gradient descent", "solid", "circle"),
    "momentum": ("momentum", "dash", "square"),
    "nesterov": ("nesterov", "dash", "square-open"),
    "cg": ("conjugate gradient", "solid", "x"),
    "gd-sigma": ("layer 8", "solid", "circle"),
    "cg-sigma": ("layer 8", "dash", "x"),
    "ridge": ("layer 7", "solid", "diamond"),
    "squares": ("layer 5", "dash", "diamond"),
    "bayes": ("floor", "dot", "diamond-open"),
    "decayed": ("layer 1", "solid", "triangle-down"),
    "delta": ("layer 2", "solid", "triangle-up"),
    "unit": ("layer 3", "solid", "triangle-up"),
    "longhorn": ("layer 4", "dash", "triangle-up"),
    "gated": ("layer 5", "solid", "triangle-down"),
    "delta-sigma": ("layer 2", "dash", "cross"),
    "recursive": ("layer 6", "solid", "hexagon"),
    "kda": ("layer 3", "dash", "triangle-down"),
    "rwkv7": ("layer 4", "solid", "x"),
    "product": ("layer 1", "dash", "diamond"),
    "titans": ("layer 8", "dashdot", "square"),
    "ttt": ("layer 2", "dashdot", "cross"),
    "omega": ("layer 7", "dash", "circle-open"),
    "mesa": ("layer 6", "dash", "square-open"),
}

SIGNS = {
    "rate": "rate",
    "beta": "β",
    "ridge": "λ",
    "decay": "decay",
    "gain": "s",
    "reach": "c",
    "rates": "rates",
    "decays": "decays",
}
ROUNDING = 1e-6  # departures below this are rounding
DECADES = 5
FLOOR = 10.0**-DECADES  # the least share that is drawn
NAMES = 104  # pixels of the names of learners beside a map


def table(run: Run, view: View) -> Panel:
    """Tabulate every learner with its equation, settings, prediction and errors."""
    prompt = shown(run, view)
    rows = [
        {
            "learner": learner.name,
            "update": learner.equation,
            "makes smaller": learner.objective,
            "settings": _settings(run, learner.id),
            "ŷ at the query": number_text(float(prompt.learned[learner.id][-1] @ prompt.query), 3),
            "left of this prompt": share_text(float(prompt.errors[learner.id][-1])),
            "left on average": share_text(share_left(run, learner.id)),
        }
        for learner in learners_of(run)
    ]
    table = pd.DataFrame(rows)
    answer = float(prompt.w @ prompt.query)
    return WORDS.panel("table", run, view, table=table, data=table, answer=answer)


def on_average(run: Run, view: View) -> Panel:
    """Draw what every learner leaves after each pair, on average over prompts of home."""
    share = run["lengths/share"]
    half = run["lengths/error"]
    x = np.arange(share.shape[1])
    series = [
        Curve(
            learner.short,
            x,
            np.clip(share[place(run, learner.id)], FLOOR, None),
            *STYLES[learner.id][:2],
            error=half[place(run, learner.id)],
        )
        for learner in members(run, view)
    ]
    config = run.config
    lines = []
    if config.covariance == "isotropic" and not config.noise:
        lines = [("1 − n/(n + d + 1)", one_step_share(config.d, config.n), "floor")]
    figure = figures.curves(
        series,
        "pairs read",
        "share left",
        log_y=True,
        y_range=(FLOOR, 4.0),
        lines=lines,
    )
    data = pd.DataFrame({"pairs": x} | {curve.name: curve.y for curve in series}).round(6)
    return WORDS.panel("average", run, view, figure, data=data)


def distances(run: Run, view: View) -> Panel:
    """Draw how far the predictions of any two learners are from each other."""
    matrix = run["who/distance"]
    names = [learner.short for learner in learners_of(run)]
    logarithms = np.log10(np.clip(matrix, FLOOR, None))
    np.fill_diagonal(logarithms, np.log10(FLOOR))
    pairs = np.argwhere(np.triu(np.ones_like(matrix), 1) > 0)
    first, second = min(pairs.tolist(), key=lambda pair: matrix[pair[0], pair[1]])
    every = {"tickvals": list(range(len(names))), "ticktext": names}
    figure = figures.heatmap(
        logarithms - np.log10(FLOOR),
        names,
        names,
        "difference",
        limit=DECADES,
    ).update_layout(
        xaxis={**every, "tickangle": -90},
        yaxis=every,
        margin={"l": NAMES, "b": NAMES},
        coloraxis={
            "cmin": 0,
            "cmax": DECADES,
            "colorscale": colourscale(NONE_TO_ALL),
            "colorbar": {
                "title": {"text": "mean squared difference"},
                "tickvals": list(range(DECADES + 1)),
                "ticktext": ["≤ 10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "1"],
            },
        },
    )
    data = pd.DataFrame(matrix, index=names, columns=names).reset_index()
    return WORDS.panel(
        "distances", run, view, figure, data=data, first=names[first], second=names[second]
    )


def nearest(run: Run, view: View) -> Panel:
    """Tabulate, for every learner, the method that it acts most like."""
    names = run.names("references")
    distance = run["who/reference"]
    error = run["who/error"]
    rows: list[dict[str, str]] = []
    for learner in learners_of(run):
        row = place(run, learner.id)
        first, second = np.argsort(distance[row])[:2].tolist()
        texts = [
            f"{share_text(distance[row, column])} ± {share_text(error[row, column])}"
            for column in (first, second)
        ]
        rows.append(
            {
                "learner": learner.name,
                "acts most like": names[first],
                "difference": texts[0],
                "then like": names[second],
                "difference of that": texts[1],
            }
        )
    table = pd.DataFrame(rows)
    method = rows[place(run, "delta")]["acts most like"]
    return WORDS.panel("nearest", run, view, table=table, data=table, method=method)


def symmetries(run: Run, view: View) -> Panel:
    """Tabulate how far every learner is from answering as it should when the prompt is changed."""
    departures = run["changes/departure"]
    ids = run.names("changes")
    titles = {change.id: change.name for change in CHANGES}
    rows: list[dict[str, str]] = []
    for learner in learners_of(run):
        settings = settings_of(run, learner.id)
        cells: dict[str, str] = {"learner": learner.short}
        for id, value in zip(ids, departures[place(run, learner.id)], strict=True):
            known = exact(learner, settings, id)
            text = "0" if value < ROUNDING else f"{value:.2g}"
            cells[titles[id]] = text if known is None else f"{text} (exact)"
        rows.append(cells)
    table = pd.DataFrame(rows)
    indifferent = int((departures[:, ids.index("order")] < ROUNDING).sum())
    return WORDS.panel(
        "symmetries",
        run,
        view,
        table=table,
        data=table,
        indifferent=indifferent,
        learners=len(rows),
    )


def broken(run: Run, view: View) -> Panel:
    """Draw what every learner leaves where one thing is not as at home, over what Bayes leaves or,
    where Bayes leaves nothing, over the error of predicting zero."""
    kind = view.changed
    if f"broken/{kind}/at" not in run.tensors:
        raise CannotDraw("With one feature there is nothing to leave out.")
    at = run[f"broken/{kind}/at"]
    share = run[f"broken/{kind}/share"]
    bayes = share[place(run, "bayes")]
    over_bayes = bool(bayes.min() > FLOOR)
    unit = bayes if over_bayes else np.ones_like(bayes)
    series = [
        Curve(
            learner.short,
            at,
            np.clip(share[place(run, learner.id)] / unit, FLOOR, None),
            *STYLES[learner.id][:2],
        )
        for learner in members(run, view)
    ]
    theory = _sum_in_theory(run, kind, at)
    if theory is not None:
        series.append(Curve("one step, theory", at, theory / unit, "construction", "dot"))
    figure = figures.curves(
        series,
        CHANGED[kind],
        "times Bayes" if over_bayes else "share left",
        log_x=kind in ("scale", "condition"),
        log_y=True,
        y_range=(0.7, 1e4) if over_bayes else (FLOOR, 100.0),
        lines=[] if over_bayes else [("predicting zero", 1.0, "seed")],
    )
    largest = [float(share[place(run, learner.id)].max()) for learner in members(run, view)]
    return WORDS.panel(
        "broken",
        run,
        view,
        figure,
        data=pd.DataFrame({CHANGED[kind]: at} | {curve.name: curve.y for curve in series}).round(6),
        what_changes=capitalised(CHANGED[kind]),
        worse=sum(share > 1.0 for share in largest),
        learners=len(largest),
        over_bayes=over_bayes,
        has_theory=theory is not None,
    )


def _sum_in_theory(run: Run, kind: str, at: np.ndarray) -> np.ndarray | None:
    """Return what one step leaves by its closed form, where there is one: isotropic prompts, of
    which the scale, the noise or the number of pairs changes."""
    config = run.config
    is_isotropic = config.covariance == "isotropic" or (
        config.covariance == "narrow" and config.condition == 1
    )
    if not is_isotropic or kind not in ("scale", "noise", "length"):
        return None
    home = {"pairs": config.n, "scale": 1.0, "noise": config.noise}
    name = "pairs" if kind == "length" else kind
    rate = float(settings_of(run, "sum")["rate"])
    return np.array([sum_share(config.d, rate=rate, **home | {name: value}) for value in at])


def _settings(run: Run, id: str) -> str:
    texts: list[str] = []
    for name, value in settings_of(run, id).items():
        numbers = value.tolist() if isinstance(value, Tensor) else [value]
        written = ", ".join(dict.fromkeys(f"{number:.3g}" for number in numbers))
        texts.append(f"{SIGNS[name]} = {written}")
    return "; ".join(texts) or "none"


def solver(run: Run, view: View) -> Panel:
    """Draw what Mesa leaves on average after each number of its steps, beside other rules."""
    shares = run["solver/share"]
    k = np.arange(1, len(shares) + 1)
    lines = [
        (learner.short, max(share_left(run, learner.id), FLOOR), STYLES[learner.id][0])
        for learner in learners_of(run)
        if learner.id in ("unit", "product", "rwkv7", "bayes")
    ]
    figure = figures.curves(
        [Curve("Mesa", k, np.clip(shares, FLOOR, None), *STYLES["mesa"][:2], markers=True)],
        "steps of conjugate gradient, k",
        "share left",
        log_y=True,
        lines=lines,
    )
    data = pd.DataFrame({"k": k, "share left": shares}).round(6)
    return WORDS.panel("solver", run, view, figure, data=data, share=share_text(shares[-2:][0]))


def held(run: Run, view: View) -> Panel:
    """Tabulate what every rule holds, what a pair costs it, and what it leaves."""
    d = run.config.d
    reach = run.config.reach
    bayes = run["lengths/share"][place(run, "bayes")]
    rows: list[dict[str, str]] = []
    for learner in learners_of(run):
        if not learner.rule or learner.whitens:
            continue
        share = run["lengths/share"][place(run, learner.id)]
        row = {
            "rule": learner.name,
            "holds": ", ".join(EVERY_RULE[learner.rule].matrices),
            "numbers": f"{EVERY_RULE[learner.rule].size(d, d, reach)}",
            "multiplications": f"{multiplications(learner.rule, d, d, reach, run.config.steps)}",
        }
        for pairs in dict.fromkeys((d, run.config.n)):
            if pairs <= run.config.n:
                row[f"left after {pairs}"] = share_text(float(share[pairs]))
        row["times Bayes"] = (
            number_text(float(share[-1] / bayes[-1]), 1) if bayes[-1] > FLOOR else "–"
        )
        rows.append(row)
    table = pd.DataFrame(rows)
    return WORDS.panel("held", run, view, table=table, data=table)
