"""What each rule loses, what its trained window holds, what batches and drift change; every rule in
a table, how fast it is best to forget, what it answers to changed prompts, and the trainings."""

from typing import Any

import numpy as np
import pandas as pd
import torch

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve, number_text
from icl_core.in_context_regression import rules
from icl_core.in_context_regression.rules import KALMAN, RULES, Rule
from icl_core.papers.gdssm.shared.task import Tasks, sample
from icl_core.papers.gdssm.shared.transformations import (
    TRANSFORMATIONS,
    departures,
    response_to_sizes,
)
from icl_core.papers.gdssm.states import expected
from icl_core.papers.gdssm.states.load_run import (
    batches_over_one_step,
    layer_shares,
    over_one_step,
    place,
    recent_over,
    rules_of,
    trained_at_step,
    trained_decay,
    trained_over_one_step,
    tuned_of,
    two_over_one_step,
    written_at,
)
from icl_core.papers.gdssm.states.recent import VARIANTS
from icl_core.papers.gdssm.states.recent_layers import LAYERS
from icl_core.papers.gdssm.states.words import WORDS

STYLES = {
    "sum": ("gradient descent", "dash"),
    "decayed": ("layer 1", "solid"),
    "delta": ("layer 2", "solid"),
    "unit": ("layer 3", "solid"),
    "longhorn": ("layer 4", "dash"),
    "gated": ("layer 5", "solid"),
    "squares": ("layer 6", "solid"),
    "kalman": ("floor", "dot"),
    "kda": ("layer 3", "dash"),
    "rwkv7": ("layer 4", "solid"),
    "product": ("layer 1", "dash"),
    "titans": ("layer 8", "dashdot"),
    "ttt": ("layer 2", "dashdot"),
    "omega": ("layer 7", "dash"),
    "product-two": ("layer 8", "dash"),
}
SHORT = {
    "sum": "sum",
    "decayed": "decayed",
    "delta": "delta",
    "unit": "unit",
    "longhorn": "implicit",
    "gated": "gated",
    "squares": "squares",
    "kalman": "Kalman",
    "kda": "KDA",
    "rwkv7": "RWKV-7",
    "product": "DeltaProduct",
    "decay": "delta, decay",
    "momentum": "delta, momentum",
    "titans": "delta, both (Titans)",
    "ttt": "TTT",
    "omega": "Omega",
    "product-two": "DeltaProduct, two pairs",
    "gated-half": "half drifts: gated",
    "kda-half": "half drifts: KDA",
}
RECENT_SHOWN = ("gated", "titans", "ttt", "omega", "product", "kda", "rwkv7", "kalman")
WINDOW = ("x", "y", "x⁺")
PARTS = ("key", "value", "query")
LIMIT = 1.5  # of the scale of coefficients, however large a quotient is before training
FORGETTING = ("decayed", "gated", "squares")
SIGNS = {"rate": "b", "decay": "a", "ridge": "λ", "gain": "gain"}
TASKS = 256
ROUNDING = 1e-4
SIZES = "each y times its own factor"


def losses(run: Run, view: Any) -> Panel:
    """Draw what every rule loses over one step of gradient descent, and the trained one at the
    step."""
    exact = over_one_step(run)
    trained = trained_at_step(run, view).mean(1)
    labels = [SHORT[rule.id] for rule in rules_of(run)]
    top = 1.1 * max(1.0, float(exact.max()))
    figure = figures.bars(
        labels,
        exact.tolist(),
        "loss over one step",
        kinds=["construction"] * len(labels),
        y_range=(0, max(top, 1.05 * float(1 / run["baseline/one"][0]))),
        text="none",
        height=figures.SEAT,
    )
    figure.data[0].update(name="as written", showlegend=True)
    marker = {"size": 11, "color": figures.colour("trained")}
    names = figure.data[0]["x"]
    figure.add_trace(Trace(x=names, y=trained, mode="markers", name="trained", marker=marker))
    figure.update_layout(showlegend=True)
    data = pd.DataFrame({"rule": labels, "as written": exact, "trained": trained}).round(4)
    return WORDS.panel("losses", run, view, figures.seated(figure, figures.HALF), data=data)


def window(run: Run, view: Any) -> Panel:
    """Draw the coefficients of the trained rule beside the construction's."""
    id = view.rule
    rule = RULES[id]
    row = min(view.seed_shown, run.config.seeds) - 1
    written = written_at(run, id, run.snapshot_at(view))
    matrix = written["window"][row]
    constructed = np.eye(3)
    maps = {"trained": matrix, "as written": constructed, "difference": matrix - constructed}
    settings = tuned_of(run, id)
    numbers = [name for name in (*rule.settings, "gain") if name in written]
    table = pd.DataFrame(
        {
            "number": numbers,
            "trained": [float(written[name][row]) for name in numbers],
            "as written": [settings[name] for name in numbers],
        }
    ).round(4)
    differences = ", ".join(
        f"{name} {number_text(a, 2)} ({number_text(b, 2)})"
        for name, a, b in table.itertuples(index=False)
    )
    figure = figures.small_maps(maps, (PARTS, WINDOW), ("", ""), "coefficient", LIMIT, written=True)
    return WORDS.panel(
        "window",
        run,
        view,
        figure,
        data=table,
        rule_name=f"{rule.name[0].upper()}{rule.name[1:]}",
        farthest=float(np.abs(maps["difference"]).max()),
        differences=differences,
    )


def tokens(run: Run, view: Any) -> Panel:
    """Draw what every rule loses after each pair."""
    share = run["tokens/share"]
    x = np.arange(share.shape[1])
    series = [
        Curve(SHORT[id], x, row, *STYLES[id])
        for id, row in zip([*run.names("rules"), KALMAN.id], share, strict=True)
    ]
    figure = figures.curves(series, "pairs read", "share of predicting zero", y_range=(0, 1.08))
    data = pd.DataFrame({"pairs": x} | {curve.name: curve.y for curve in series}).round(4)
    return WORDS.panel("tokens", run, view, figure, data=data)


def batches(run: Run, view: Any) -> Panel:
    """Draw gradient descent over the pairs in batches, from the delta rule to one step."""
    ratio = batches_over_one_step(run)
    b = np.arange(1, len(ratio) + 1)
    figure = figures.curves(
        [Curve("in batches", b, ratio, "construction", markers=True)],
        "batch size, b",
        "loss over one step",
        lines=[
            ("one step", 1.0, "gradient descent"),
            ("two steps", two_over_one_step(run), "floor"),
        ],
        y_range=(0, 1.12),
        at=min(view.pairs_a_batch, len(b)),
    )
    data = pd.DataFrame({"b": b, "over one step": ratio}).round(4)
    return WORDS.panel("batches", run, view, figures.seated(figure, figures.HALF), data=data)


def drift(run: Run, view: Any) -> Panel:
    """Draw what every rule loses against the drift, tuned at each."""
    ids = [*run.names("rules"), KALMAN.id]
    figure, data = _over_drifts(run["drift/at"], dict(zip(ids, run["drift/share"], strict=True)))
    return WORDS.panel("drift", run, view, figures.seated(figure, figures.HALF), data=data)


def _over_drifts(at: np.ndarray, shares: dict[str, np.ndarray]) -> tuple[Figure, pd.DataFrame]:
    """Return a figure of what rules lose at each drift, and its numbers."""
    series = [Curve(SHORT[id], at, row, *STYLES[id]) for id, row in shares.items()]
    figure = figures.curves(
        series, "drift a pair, ρ", "share of predicting zero", y_range=(0, 1.08)
    )
    return figure, pd.DataFrame({"drift": at} | {each.name: each.y for each in series}).round(4)


def table(run: Run, view: Any) -> Panel:
    """Tabulate every rule with its equation, its state, its settings and its losses."""
    exact = over_one_step(run)
    trained = trained_over_one_step(run).mean(1)
    f = run.config.f
    rows = [
        {
            "rule": rule.name,
            "in": rule.models,
            "update": rule.equation,
            "state": f"{' and '.join(rule.matrices)}, {rule.size(f, f)} numbers",
            "settings": _settings(run, rule),
            "set by": rule.tuning,
            "loss over one step": f"{exact[place(run, rule.id)]:.3f}",
            "trained": f"{trained[place(run, rule.id)]:.3f}",
        }
        for rule in rules_of(run)
    ]
    frame = pd.DataFrame(rows)
    return WORDS.panel("table", run, view, table=frame, data=frame)


def _settings(run: Run, rule: Rule) -> str:
    """Return the best settings of a rule in words."""
    signs = SIGNS | ({"rate": "β"} if rule.id == "longhorn" else {})
    signs |= {"decay": "γ"} if rule.id == "squares" else {}
    settings = tuned_of(run, rule.id)
    return ", ".join(
        f"{signs[name]} = {number_text(value, 3)}"
        for name, value in settings.items()
        if name != "gain" or abs(value - 1) > 0.02
    )


def decays(run: Run, view: Any) -> Panel:
    """Draw the best decay of each rule that has one against the drift, with the trained one."""
    at = run["drift/at"]
    series = [
        Curve(SHORT[id], at, run["drift/decay"][place(run, id)], *STYLES[id]) for id in FORGETTING
    ]
    series.append(Curve("√(1 − ρ²)", at, np.sqrt(1 - at**2), "floor"))
    figure = figures.curves(series, "drift a pair, ρ", "best decay", y_range=(0.3, 1.15))
    for id in FORGETTING[:2]:
        values = trained_decay(run, id)
        dots = figures.dots(
            np.stack([np.full(len(values), run.config.drift), values], 1), f"{SHORT[id]}, trained"
        )
        dots["marker"]["color"] = figures.colour(STYLES[id][0])
        figure.add_trace(dots)
    data = pd.DataFrame({"drift": at} | {curve.name: curve.y for curve in series}).round(4)
    return WORDS.panel("decays", run, view, figure, data=data)


def recent(run: Run, view: Any) -> Panel:
    """Draw what recent rules lose against the drift, tuned at each."""
    ids = [*run.names("recent"), KALMAN.id]
    share = run[f"recent/{view.drifting}"]
    figure, data = _over_drifts(run["recent/at"], {id: share[ids.index(id)] for id in RECENT_SHOWN})
    saves = 1 - recent_over(run, "kda", "gated", view.drifting)
    return WORDS.panel("recent", run, view, figure, data=data, saves=saves)


def variants(run: Run, view: Any) -> Panel:
    """Tabulate what every rule loses at two drifts."""
    at = run["recent/at"].tolist()
    ids = [*run.names("recent"), KALMAN.id]
    updates = [(VARIANTS[id][0] if id in VARIANTS else KALMAN).equation for id in ids]
    table = pd.DataFrame({"rule": [SHORT[id] for id in ids], "update": updates})
    for kind, what in (("all", "all drifts"), ("half", "half drifts")):
        for drift in (0.3, 0.5):
            column = run[f"recent/{kind}"][:, at.index(drift)]
            table[f"{what}, ρ = {drift}"] = [f"{share:.3f}" for share in column]
    return WORDS.panel(
        "variants",
        run,
        view,
        table=table,
        data=table,
        by_momentum=max(0.0, round(1 - recent_over(run, "momentum", "delta", "all"), 4)),
        by_decay=1 - recent_over(run, "decay", "delta", "all"),
    )


def layers(run: Run, view: Any) -> Panel:
    """Draw what KDA and DeltaProduct lose, as constructed and trained, beside two rules."""
    share, trained = layer_shares(run)
    beside = ("unit", "squares")
    exact = [run["tokens/share"][place(run, id), -1] for id in beside]
    ratio = run["evaluated/trained"] / run["evaluated/constructed"][:, None]
    ends = [one * ratio[place(run, id)] for one, id in zip(exact, beside, strict=True)]
    labels = [SHORT[id] for id in (*beside, *run.names("layers"))]
    written = np.array([*exact, *share])
    rows = np.stack([*ends, *trained])  # (bars, seeds)
    figure = figures.bars(
        labels,
        written.tolist(),
        "share of predicting zero",
        kinds=["construction"] * len(labels),
        y_range=(0, 1.1 * max(float(rows.max()), float(written.max()))),
        text="none",
    )
    figure.data[0].update(name="as constructed", showlegend=True)
    names = np.repeat(figure.data[0]["x"], rows.shape[1])
    marker = {"size": 8, "color": figures.colour("trained")}
    dots = Trace(x=names, y=rows.ravel(), mode="markers", name="trained", marker=marker)
    figure.add_trace(dots)
    figure.update_layout(showlegend=True)
    data = pd.DataFrame({"layer": labels, "constructed": written, "trained": rows.mean(1)}).round(4)
    return WORDS.panel("layers", run, view, figure, data=data)


def channels(run: Run, view: Any) -> Panel:
    """Draw the decay of every channel of KDA where half the columns drift."""
    trained = run["layers/kda-half/decays"]
    channel = np.arange(1, trained.shape[1] + 1)
    best = run["layers/kda-half/tuned-decays"]
    figure = figures.curves(
        [
            Curve("trained", channel, trained, "trained", markers=True),
            Curve("as constructed", channel, best, "construction", "dash"),
        ],
        "feature",
        "decay a pair",
    )
    data = pd.DataFrame(
        {"feature": channel, "trained": trained.mean(0), "constructed": best}
    ).round(4)
    return WORDS.panel("channels", run, view, figure, data=data)


@torch.no_grad()
def symmetries(run: Run, view: Any) -> Panel:
    """Draw how far each rule, with its best settings, is from answering as it should when the
    prompt is changed."""
    f = run.config.f
    N = run.config.N
    generator = torch.Generator().manual_seed(2**31 + 23)
    tasks = sample(f, N, TASKS, generator).to(torch.float64)
    rows = [_changes(rule, tuned_of(run, rule.id), tasks) for rule in rules_of(run)]
    data = pd.DataFrame(rows)
    return WORDS.panel(
        "symmetries",
        run,
        view,
        table=data.map(lambda cell: cell if isinstance(cell, str) else f"{cell:.2g}"),
        data=data,
        orderless=sum(row[TRANSFORMATIONS[2].name] == 0 for row in rows),
        all=len(rows),
    )


def _changes(rule: Rule, settings: expected.Tuned, tasks: Tasks) -> dict[str, str | float]:
    """Return a rule's row; a share that rounding makes is 0."""

    def predict(tasks: Tasks) -> torch.Tensor:
        state = rules.after(rule, tasks.x[:-1], tasks.y[:-1], settings)
        return settings["gain"] * rules.predict(rule, state, tasks.x[-1], settings)

    names_by_id = {transformation.id: transformation.name for transformation in TRANSFORMATIONS}
    shares = {names_by_id[id]: share for id, share in departures(predict, tasks).items()}
    shares[SIZES] = response_to_sizes(predict, tasks)
    return {"rule": rule.name} | {
        name: 0.0 if share < ROUNDING else share for name, share in shares.items()
    }


def training(run: Run, view: Any) -> Panel:
    """Draw the loss of every trained rule against the step; also of a run that is still going."""
    x = np.asarray(run.tensors.get("curve/step", [0]))
    ids = [*RULES, *(layer.id for layer in LAYERS.values() if not layer.half)]
    curves = {id: run.tensors[f"curve/{id}"] for id in ids if f"curve/{id}" in run.tensors}
    series = [Curve(SHORT[id], x, rows, *STYLES[id]) for id, rows in curves.items()]
    ends = {curve.name: float(curve.mean()[-1]) for curve in series}
    best = min(ends, key=lambda name: ends[name], default="")
    figure = figures.curves(
        series or [Curve("none yet", x, np.full(len(x), np.nan))],
        "training step",
        "loss at the query",
    )
    data = pd.DataFrame({"step": x} | {curve.name: curve.mean() for curve in series}).round(5)
    return WORDS.panel(
        "training",
        run,
        view,
        figure,
        data=data,
        trained=len(ends),
        lowest=best,
        least=ends.get(best),
    )
