"""What is on stage: one prompt's paths both ways, their differences, the vanishing gradient, the
count."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Bowl, Curve, Track
from icl_core.figures.style import INK, axis, layout
from icl_core.papers.memformers.shared.draw.losses import written
from icl_core.papers.memformers.shared.draw.stage import HEIGHT, fitted
from icl_core.papers.memformers.theorems import parameters
from icl_core.papers.memformers.theorems.draw.number_text import power
from icl_core.papers.memformers.theorems.metrics import apart, expected, slope, told_apart
from icl_core.papers.memformers.theorems.settings import View

PATHS = {
    "cgd": ("CGD", "conjugate gradient"),
    "momentum": ("heavy ball", "momentum"),
    "nesterov": ("Nesterov", "nesterov"),
}
LINES = PATHS | {"any": ("any, eq. 1.1", "layer 2")}
EPSILON = 2.0**-52  # a float64's rounding
LEAST = 1e-17  # what is less is drawn as this
ENDS = (1e-18, 30.0)  # of the axis
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
    return Panel(
        f"On prompt {prompt} the paths agree to {power(largest)}",
        "Lines and dots are the guesses of each method, in the plane of the eigenvectors of the "
        "smallest and the largest eigenvalue. Rings are the guesses that the tokens of the "
        "Memformer hold, read out with the queries e₁ … e_d. Were a theorem wrong, rings would "
        "leave their line.",
        fitted(figure, figures.HALF),
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
        Curve(LINES[name][0], x, np.maximum(row, LEAST), LINES[name][1], markers=True)
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
        height=HEIGHT,
    )
    # On the left it would cover the curves.
    figure.layout["annotations"][0].update(x=0.99, xanchor="right")
    for trace in figure.data:  # the panel beside names the methods
        if trace.get("name") in [label for label, _ in PATHS.values()]:
            trace.update(showlegend=False)
    largest = max(apart(run, name) for name in rows)
    last = written(float(run["others/distance/other"][-1]), 1)
    return Panel(
        f"Tokens and methods agree to {power(largest)}",
        "The largest difference over all prompts between a method's guesses and those in the "
        "tokens, relative to w*. The dotted line on top is conjugate gradient with another "
        f"prompt's α and γ: the median distance of its predictions from the right ones, {last} of "
        "their size after the last layer. Theorem 3.1 speaks of one prompt. If it held for all "
        "with one α and γ, that line would be at the bottom too.",
        fitted(figure.update_xaxes(tickvals=x, ticktext=[str(each) for each in x]), figures.HALF),
        data=pd.DataFrame({"layers": x, "another prompt's": run["others/distance/other"]} | rows),
    )


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
    figure = figures.curves(series, "prompts N", "gradient", log_x=True, log_y=True, height=HEIGHT)
    return Panel(
        f"At a Σ⁻¹ the gradient shrinks like 1/√N (power {written(slope(run)[0])})",
        "How large the gradient with respect to all Aₗ is, measured on N prompts (root mean "
        "square over sets of them; w* and query are integrated out). At Aₗ = aₗ Σ⁻¹ (orange) it "
        "is sampling error and follows the dotted line. Along aₗ itself it is "
        f"{power(float(run['gradient/along']))} on all {size[-1]:,} prompts, for which the aₗ are "
        "best. Elsewhere training could go on, and the line levels off: at the best multiples of "
        f"I, and a tenth away from aₗ Σ⁻¹. {_expected(run)}At random Aₗ of the same size it is "
        f"{power(float(every['random'][-1]))}.",
        fitted(figure, figures.HALF),
        data=pd.DataFrame({"prompts": size} | every),
    )


def _expected(run: Run) -> str:
    if not told_apart(run):
        return ""
    value, error = (written(each, 3) for each in expected(run))
    return (
        f"Without sampling error its square at aₗ Σ⁻¹ is {value} ± {error} of that at the best aₗ "
        "I. "
    )


def count(run: Run, view: View) -> Panel:
    """Draw what each variant learns beside what conjugate gradient computes for a batch."""
    learned = dict(zip(run.names("variants"), run["count/used"].tolist(), strict=True))
    of_cgd = f"CGD, B = {view.batch}"
    numbers = {BARS.get(name, name): number for name, number in learned.items()}
    numbers[of_cgd] = parameters.conjugate(run.config.layers, view.batch)
    names = sorted(numbers, key=lambda name: -numbers[name])
    kinds = ["conjugate gradient" if name == of_cgd else "trained" for name in names]
    values = [numbers[name] for name in names]
    from_on = parameters.overtaken(learned["lfom"], run.config.layers)
    return Panel(
        f"From {from_on} prompts on LFOM uses fewer numbers",
        "Blue: how many numbers each variant learns, counted on its tensors. Black: how many "
        f"conjugate gradient computes for B = {view.batch} test prompts, two for each prompt and "
        "iteration (Remark 3.3). The Memformer's numbers serve all prompts. CGD's are not "
        "learned: it computes them from each prompt.",
        _rows(names, values, kinds),
        data=pd.DataFrame({"model": names, "numbers": values}),
    )


def _rows(names: list[str], values: list[int], kinds: list[str]) -> Figure:
    """Return a bar a row with its number behind it: there is no room for so many names under
    bars."""
    bars = Trace("bar", orientation="h", x=values, y=names, text=[str(value) for value in values])
    bars.update(marker={"color": [figures.colour(kind) for kind in kinds]})
    bars.update(textposition="outside", textangle=0, textfont={"size": SMALL}, cliponaxis=False)
    bars.update(hovertemplate="%{y}: %{x}<extra></extra>")
    figure = Figure([bars], layout(HEIGHT, showlegend=False, bargap=0.2))
    figure.update_xaxes(axis("numbers", range=[0, 1.08 * max(values)], showticklabels=False))
    figure.update_yaxes(axis(type="category", autorange="reversed", showgrid=False, dtick=1))
    figure = fitted(figure).update_layout(margin={"t": 2, "b": 20})
    return figure.update_yaxes(tickfont={"size": SMALL})
