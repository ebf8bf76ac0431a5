"""What is drawn of the theorems: one prompt's paths both ways, what is put into the tokens, what
one prompt's coefficients do to others, the vanishing gradient, and the count."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Bowl, Curve, Track
from icl_core.figures.style import INK, axis, layout
from icl_core.papers.memformers.shared.draw.losses import SEAT, fitted, roomy
from icl_core.papers.memformers.shared.variants import VARIANTS
from icl_core.papers.memformers.theorems import parameters
from icl_core.papers.memformers.theorems.settings import View
from icl_core.papers.memformers.theorems.words import WORDS, power

PATHS = {
    "cgd": ("CGD", "conjugate gradient"),
    "momentum": ("heavy ball", "momentum"),
    "nesterov": ("Nesterov", "nesterov"),
}
LINES = PATHS | {"any": ("any, eq. 1.1", "layer 2")}
EPSILON = 2.0**-52  # a float64's rounding
NONE = 1e-17  # a difference that is less is drawn as this
ENDS = (1e-18, 30.0)  # of the axis of differences
SMALL = 12  # pixels of the type of the counts
PLACES = {
    "construction": ("aΣ⁻¹", "construction"),
    "identity": ("best aI", "layer 2"),
    "near": ("a tenth away", "layer 3"),
}
BARS = {
    "linear": "linear",
    "cgd": "CGD-like",
    "lfom": "LFOM",
    "coordinate": "per coord.",
    "token": "token, pair",
    "token shared": "per token",
    "shared": "Γ shared",
    "gd++": "GD++",
    "gd++ entry": "GD++, entry",
    "learned": "Λ alone",
    "learned shared": "Λ shared",
}
MAPS = 3  # prompts or coordinates beside each other
DIFFER = {
    "cgd": "prompt",
    "cgd-gamma": "prompt",
    "diagonal": "coordinate",
}  # of what each has a table of its own
WRITTEN = 6  # layers up to which the numbers are written
# Of a loss or distance, where it is drawn.
SMALLEST = 1e-6
LARGEST = 1e3
LOSSES = {
    "own": ("its own α, γ: CGD", "conjugate gradient"),
    "other": ("another prompt's", "layer 2"),
    "mean": ("the mean over prompts", "layer 3"),
}


def paths(run: Run, view: View) -> Panel:
    """Draw one prompt's iterates as the methods make them and as the tokens hold them."""
    prompt = min(view.prompt, run.config.prompts - 1)
    values = run["path/eigenvalues"]
    plane = [int(values.argmin()), int(values.argmax())]
    if plane[0] == plane[1]:
        plane[1] = (plane[0] + 1) % len(values)
    S = run["path/S"][prompt]
    goal = run["path/target"][prompt]
    bowl = Bowl(S[np.ix_(plane, plane)], tuple(goal[plane].tolist()))
    both = {
        name: run[f"path/{name}"][:, prompt] for name in PATHS if name in run.names("methods")
    }  # [2, L + 1, d]
    tracks = [
        _track(name, each[0], plane, (each[0] - goal) ** 2 @ values) for name, each in both.items()
    ]
    titles = [f"eigenvector {axis + 1} (λ = {values[axis]:.3g})" for axis in plane]
    figure = figures.paths(tracks, bowl, titles[0], titles[1], at=run.config.layers)
    figure.add_traces(_tokens(np.concatenate([each[1][:, plane] for each in both.values()])))
    largest = max(float(np.abs(each[1] - each[0]).max()) for each in both.values())
    return WORDS.panel(
        "paths", run, view, fitted(figure, figures.HALF), prompt_shown=prompt, gap=power(largest)
    )


def _track(name: str, points: np.ndarray, plane: list[int], losses: np.ndarray) -> Track:
    label, kind = PATHS[name]
    return Track(label, points[:, plane[0]], points[:, plane[1]], kind, losses)


def _tokens(points: np.ndarray) -> list[Trace]:
    marker = {"symbol": "circle-open", "size": 15, "color": INK, "line": {"width": 1.5}}
    style = {"mode": "markers", "marker": marker, "hoverinfo": "skip", "name": "tokens"}
    return [Trace(x=points[:, 0], y=points[:, 1], **style)]


def differences(run: Run, view: View) -> Panel:
    """Draw tokens against methods after every layer, and conjugate gradient with another prompt's
    coefficients."""
    x = np.arange(1, run.config.layers + 1)
    rows = {name: run[f"identity/{name}"][1:] for name in run.names("methods")}
    series = [
        Curve(LINES[name][0], x, np.maximum(row, NONE), LINES[name][1], markers=True)
        for name, row in rows.items()
        if name in LINES
    ]
    other = np.minimum(run["others/distance/other"], ENDS[1])
    series.append(
        Curve("another prompt's α, γ", x, other, "conjugate gradient", "dot", markers=True)
    )
    figure = figures.curves(
        series,
        "layers",
        "difference",
        log_y=True,
        x_range=(0.85, x[-1] + 0.15),
        y_range=ENDS,
        lines=[("float64's rounding", EPSILON, "gradient descent")],
        height=SEAT,
    )
    # On the left it would cover the curves.
    figure.layout["annotations"][0].update(x=0.99, xanchor="right")
    for trace in figure.data:  # the panel beside names the methods
        if trace.get("name") in [label for label, _ in PATHS.values()]:
            trace.update(showlegend=False)
    figure.update_xaxes(tickvals=x, ticktext=[str(layers) for layers in x])
    data = pd.DataFrame({"layers": x, "another prompt's": run["others/distance/other"]} | rows)
    return WORDS.panel("differences", run, view, fitted(figure, figures.HALF), data=data)


def gradient(run: Run, view: View) -> Panel:
    """Draw the gradient's norm against the number of prompts, at the construction and elsewhere."""
    size = run["gradient/size"]
    every = {name: run[f"gradient/{name}"] for name in (*PLACES, "random")}
    norms = {name: row for name, row in every.items() if name in PLACES and np.isfinite(row).all()}
    falling = norms["construction"][0] * (size / size[0]) ** -0.5
    series = [Curve("1/√N", size, falling, "floor")]
    series += [
        Curve(PLACES[name][0], size, row, PLACES[name][1], markers=True)
        for name, row in norms.items()
    ]
    figure = figures.curves(series, "prompts N", "gradient", log_x=True, log_y=True, height=SEAT)
    data = pd.DataFrame({"prompts": size} | every)
    return WORDS.panel("gradient", run, view, fitted(figure, figures.HALF), data=data)


def count(run: Run, view: View) -> Panel:
    """Draw what each variant learns beside what conjugate gradient computes for a batch."""
    learned = dict(zip(run.names("variants"), run["count/used"].tolist(), strict=True))
    of_cgd = f"CGD, B = {view.batch}"
    numbers = {BARS.get(name, name): number for name, number in learned.items()}
    numbers[of_cgd] = parameters.conjugate(run.config.layers, view.batch)
    names = sorted(numbers, key=lambda name: -numbers[name])
    kinds = ["conjugate gradient" if name == of_cgd else "trained" for name in names]
    values = [numbers[name] for name in names]
    data = pd.DataFrame({"model": names, "numbers": values})
    return WORDS.panel("count", run, view, _rows(names, values, kinds), data=data)


def _rows(names: list[str], values: list[int], kinds: list[str]) -> Figure:
    """Return a bar a row with its number behind it: there is no room for so many names under
    bars."""
    bars = Trace("bar", orientation="h", x=values, y=names, text=[str(value) for value in values])
    bars.update(marker={"color": [figures.colour(kind) for kind in kinds]})
    bars.update(textposition="outside", textangle=0, textfont={"size": SMALL}, cliponaxis=False)
    bars.update(hovertemplate="%{y}: %{x}<extra></extra>")
    figure = Figure([bars], layout(SEAT, showlegend=False, bargap=0.2))
    figure.update_xaxes(axis("numbers", range=[0, 1.08 * max(values)], showticklabels=False))
    figure.update_yaxes(axis(type="category", autorange="reversed", showgrid=False, dtick=1))
    figure = fitted(figure).update_layout(margin={"t": 2, "b": 20})
    return figure.update_yaxes(tickfont={"size": SMALL})


def table(run: Run, view: View) -> Panel:
    """Draw Γ_j^l of the chosen method: of three prompts or coordinates where these differ, else
    beside its sums."""
    tables = _maps(run, view)
    L = run.config.layers
    after, past = ([str(layer + first) for layer in range(L)] for first in (1, 0))
    figure = figures.maps(
        list(tables),
        list(tables.values()),
        after,
        past,
        "coefficient",
        row_title="after layer",
        column_title="past gradient",
        written=L <= WRITTEN,
        columns=MAPS,
    )
    return WORDS.panel("table", run, view, figure, data=_tabled(tables))


def _maps(run: Run, view: View) -> dict[str, np.ndarray]:
    every = run[f"table/{view.method}"]  # [L, L, prompts or d]
    triangle = np.tri(run.config.layers, dtype=bool)
    if view.method not in DIFFER:
        step = every[..., 0]
        tables = {"Γ of eq. 3.4, a layer's own": step, "−Γ of eq. 1.1, from w₀ on": step.cumsum(0)}
    else:
        count = every.shape[-1]
        first = 0 if view.method == "diagonal" else view.prompt
        chosen = [(first + i) % count for i in range(min(MAPS, count))]
        tables = {f"{DIFFER[view.method]} {i}": every[..., i] for i in chosen}
    return {name: np.where(triangle, each, np.nan) for name, each in tables.items()}


def _tabled(tables: dict[str, np.ndarray]) -> pd.DataFrame:
    rows = []
    for name, table in tables.items():
        for layer in range(len(table)):
            rows += [(name, layer + 1, j, table[layer, j]) for j in range(layer + 1)]
    return pd.DataFrame(rows, columns=["of", "after layer", "gradient", "coefficient"]).round(6)


def losses(run: Run, view: View) -> Panel:
    """Draw the median loss of conjugate gradient, with its own coefficients and with others."""
    x = np.arange(run.config.layers + 1)
    rows = {name: run[f"others/loss/{name}"] for name in LOSSES}
    low = max(float(rows["own"].min()), SMALLEST)
    series = [
        Curve(LOSSES[name][0], x, row.clip(low, LARGEST), LOSSES[name][1], markers=True)
        for name, row in rows.items()
    ]
    data = pd.DataFrame({"layers": x} | rows).round(6)
    return WORDS.panel("losses", run, view, _over(series, "median loss"), data=data)


def distances(run: Run, view: View) -> Panel:
    """Draw how far predictions with others' coefficients are from conjugate gradient's."""
    x = np.arange(1, run.config.layers + 1)
    rows = {name: run[f"others/distance/{name}"] for name in ("other", "mean")}
    series = [
        Curve(LOSSES[name][0], x, row.clip(SMALLEST, LARGEST), LOSSES[name][1], markers=True)
        for name, row in rows.items()
    ]
    data = pd.DataFrame({"layers": x} | rows).round(6)
    return WORDS.panel("distances", run, view, _over(series, "distance from CGD"), data=data)


def _over(series: list[Curve], y_title: str) -> Figure:
    x = series[0].x
    figure = figures.curves(
        series, "layers", y_title, log_y=True, x_range=(x[0] - 0.15, x[-1] + 0.15)
    )
    return roomy(figure.update_xaxes(tickvals=x, ticktext=[str(each) for each in x]))


def theorems(run: Run, view: View) -> Panel:
    """Return what the theorems say, what was put in, and how far tokens and method are apart."""
    return WORDS.panel("theorems", run, view)


def errata(run: Run, view: View) -> Panel:
    """Return every erratum: where, as printed, right, and what this run measured."""
    return WORDS.panel("errata", run, view)


def code(run: Run, view: View) -> Panel:
    """Return where the paper's text and the authors' code differ, and which one is followed."""
    return WORDS.panel("code", run, view)


def counts(run: Run, view: View) -> Panel:
    """Draw what each variant learns: in words, by formula, and counted."""
    config = run.config
    counted = zip(
        run.names("variants"), run["count/used"].tolist(), run["count/stored"].tolist(), strict=True
    )
    rows = [
        (
            VARIANTS[name].name,
            parameters.COUNTS[name].learns,
            parameters.COUNTS[name].formula,
            used,
            stored,
            parameters.overtaken(used, config.layers),
        )
        for name, used, stored in counted
    ]
    columns = ["model", "learns", "formula", "counted", "stored", "CGD more from B"]
    frame = pd.DataFrame(rows, columns=columns)
    return WORDS.panel("counts", run, view, table=frame, data=frame)
