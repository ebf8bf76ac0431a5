"""What can be drawn of methods learned from a number of prompts: their loss on these, on fresh
ones, and against it."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.claims import agree
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve
from icl_core.papers.memformers.learned.claims import AUTHORS, PRINTED, PRINTED_CGD
from icl_core.papers.memformers.learned.metrics import excess, power
from icl_core.papers.memformers.learned.settings import View
from icl_core.papers.memformers.shared.draw.losses import printed, written
from icl_core.papers.memformers.shared.draw.stage import HEIGHT, fitted
from icl_core.papers.memformers.shared.load_run import curve, log_from_least, step

RINGS = " Rings are the paper's points; the paper shows only the training prompts."


def gap(run: Run, view: View) -> Panel:
    """Log-loss on own and on fresh prompts against the number of prompts learned from."""
    sizes, L = run["size/prompts"].astype(float), run.config.layers
    names = {
        "fresh prompts": ("evaluated/loss", "solid"),
        "its own prompts": ("evaluated/train", "dot"),
    }
    ends = {name: log_from_least(run[key][..., -1]) for name, (key, _) in names.items()}
    series = [
        Curve(name, sizes, ends[name], "trained", dash, markers=True)
        for name, (_, dash) in names.items()
    ]
    best, zero = (
        float(log_from_least(run["endless/loss"])[:, -1].mean()),
        float(np.log(run.config.d)),
    )
    lines = [("N = ∞", best, "floor"), ("predicting zero", zero, "floor")]
    means = [each.mean(0) for each in ends.values()]
    rings = {size: curve[L - 1] for size, curve in _printed(run).items() if len(curve) >= L}
    lowest = min(*(each.min() for each in means), *rings.values())
    highest = max(zero, *(each.max() for each in means))
    figure = figures.curves(
        series,
        "prompts learned from, N",
        "log-loss",
        log_x=True,
        lines=lines,
        height=HEIGHT,
        x_range=(sizes[0] / 1.3, sizes[-1] * 1.3),
        y_range=(float(lowest) - 0.8, min(float(highest), _top(run)) + 0.8),
    )
    figure.layout["annotations"][1].update(
        x=0.99, xanchor="right"
    )  # where few learn worse than that
    apart = [
        float(ends["fresh prompts"][:, at].mean() - ends["its own prompts"][:, at].mean())
        for at in (0, -1)
    ]
    figure.add_traces(
        printed([("its own prompts", list(rings.values()), "trained", None)], list(rings))
        if rings
        else []
    )
    return Panel(
        f"Fresh is {written(apart[0], 1)} worse at N = {sizes[0]:g}, {written(apart[-1], 1)} at "
        f"{sizes[-1]:g}",
        f"The method of {L} step{'s' * (L > 1)}, on the N prompts that it was learned from and on "
        "fresh ones. Log-loss is the logarithm of the error: one less is 2.7 times smaller. If "
        "the method has learned the task, the two lines meet. If it has learned its prompts by "
        "heart, it is low on them and high on all others." + RINGS * bool(rings),
        fitted(figure.update_xaxes(tickvals=sizes, ticktext=[f"{size:g}" for size in sizes])),
        data=pd.DataFrame({"N": sizes} | {name: each.mean(0) for name, each in ends.items()}),
    )


def own(run: Run, view: View) -> Panel:
    """Log-loss against steps on the prompts that were learned from (Figure 11)."""
    cg = log_from_least(run["baseline/cg_train"])[:, 0]
    series = [
        *_by_size(run, "evaluated/train"),
        Curve("CGD", _steps(run), cg, "conjugate gradient"),
    ]
    sizes = list(run["size/prompts"])
    rings = [
        (f"{size}", curve, _kind(sizes.index(size)), None) for size, curve in _printed(run).items()
    ]
    few, many = (
        float(log_from_least(run["evaluated/train"])[:, index, -1].mean()) for index in (0, -1)
    )
    return Panel(
        f"Own prompts reach {written(few, 1)} at {sizes[0]}, {written(many, 1)} at {sizes[-1]}",
        "Each line is a method learned from N prompts, on these very prompts; CGD is on the "
        "fewest. A line far below CGD looks like a better method. Before you believe it, look at "
        "the same methods on fresh prompts, and at the band: much depends on which prompts they "
        "are." + _beyond(series, rings),
        fitted(_against_steps(run, series).add_traces(_unnamed(printed(rings)))),
        data=_table(run, "evaluated/train"),
    )


def fresh(run: Run, view: View) -> Panel:
    """The same methods on fresh prompts, and one learned from infinitely many."""
    endless = Curve("∞", _steps(run), log_from_least(run["endless/loss"]), "floor")
    cg = Curve("CGD", _steps(run), log_from_least(run["baseline/cg"]), "conjugate gradient")
    ends = (run["evaluated/loss"][:, 0, -1], run["endless/loss"][:, -1])
    few, best = (float(log_from_least(losses).mean()) for losses in ends)
    rings = [("CGD", PRINTED_CGD, "conjugate gradient", None)] if _printed(run) else []
    series = [*_by_size(run, "evaluated/loss"), endless, cg]
    figure = _against_steps(run, series, PRINTED_CGD if rings else (0.0,))
    for trace in figure.data:  # the panel beside names the others
        if trace.get("name") != endless.name:
            trace.update(showlegend=False)
    return Panel(
        f"Fresh prompts reach {written(few, 1)} at {run['size/prompts'][0]}, {written(best, 1)} "
        "at ∞",
        "The same methods on 65,536 prompts that no method has seen. “Zero” is predicting zero; "
        "a line may go on beyond the axis. A method that has learned its prompts by heart lies "
        "high, at times above the line of predicting zero. With enough prompts it comes to the "
        "dotted line, the best that its coefficients can do."
        + " Rings are the paper's CGD, which sees 20 examples; the method sees 19."
        * bool(rings),
        fitted(figure.add_traces(_unnamed(printed(rings)))),
        data=_table(run, "evaluated/loss"),
    )


def risk(run: Run, view: View) -> Panel:
    """Excess risk against the number of prompts (Theorem 5.1), of the mean and of the median."""
    depth, sizes = min(view.steps_shown, run.config.layers), run["size/prompts"].astype(float)
    mean, median = (_positive(excess(run, depth, of)) for of in ("loss", "median"))
    root = np.nanmean(mean[:, 0]) * (sizes / sizes[0]) ** -0.5
    series = [
        Curve("of the mean", sizes, mean, "trained", band="minmax", markers=True),
        Curve("of the median", sizes, median, "layer 2", "dash", markers=True),
        Curve("N to the power -1/2", sizes, root, "floor"),
    ]
    figure = figures.curves(
        series, "prompts learned from, N", "excess risk", log_x=True, log_y=True
    )
    slopes = [written(power(run, depth, of), 1) for of in ("loss", "median")]
    return Panel(
        f"{depth} step{'s' * (depth > 1)}: the excess falls like N to the power {slopes[0]}, that "
        f"of the median {slopes[1]}"
        if len(sizes) > 1
        else "One number of prompts cannot show a fall",
        "The excess: how much larger a method's error is on fresh prompts than that of one "
        "learned from infinitely many. For a bounded loss, the proof of Theorem 5.1 bounds it by "
        "a line like the dotted one. The squared error is not bounded, and rare prompts rule its "
        "mean, so that the theorem does not promise this for blue. The median, in which they do "
        "not count, stands beside it. A method that learns nothing general stays level.",
        figure.update_xaxes(tickvals=sizes, ticktext=[f"{size:g}" for size in sizes]),
        data=pd.DataFrame(
            {"prompts": sizes, "of the mean": mean.mean(0), "of the median": median.mean(0)}
        ),
    )


def _positive(values: np.ndarray) -> np.ndarray:
    """NaN where a method that learned from N prompts is no worse than one from infinitely many."""
    return np.where(values > 0, values, np.nan)


def training(run: Run, view: View) -> Panel:
    """Loss on fresh prompts while the method of most steps learns from the fewest prompts."""
    steps, loss = step(run), curve(run, "curve/loss")
    figure = figures.curves(
        [Curve("fresh prompts", steps, loss, "trained")], "training step", "loss", log_y=True
    )
    mean = figures.mean_of(loss)
    least = int(steps[np.nanargmin(mean)]) if np.isfinite(mean).any() else 0
    return Panel(
        f"On fresh prompts the method from the fewest prompts is best at step {least}",
        "The loss on fresh prompts as the method learns from its few. Where it falls, the method "
        "learns the task. Where it rises, it learns its own prompts by heart. Without learning it "
        "would stay level.",
        figure,
        data=pd.DataFrame({"step": steps, "loss": mean}),
    )


def _printed(run: Run) -> dict[int, tuple[float, ...]]:
    """What the authors' code prints of the methods' own prompts, by their number; nothing in other
    settings."""
    at = {name: value for name, value in AUTHORS.items() if name != "layers"}
    if not agree(run.config, at):
        return {}
    return {
        size: PRINTED[size][: run.config.layers]
        for size in run["size/prompts"].tolist()
        if size in PRINTED
    }


def _unnamed(traces: list[Trace]) -> list[Trace]:
    """Traces that the first panel names."""
    return [trace.update(showlegend=False) for trace in traces]


def _steps(run: Run) -> np.ndarray:
    return np.arange(1, run.config.layers + 1)


def _by_size(run: Run, name: str) -> list[Curve]:
    return [
        Curve(
            f"{size}",
            _steps(run),
            log_from_least(run[name])[:, index],
            _kind(index),
            band="minmax",
            markers=True,
        )
        for index, size in enumerate(run["size/prompts"])
    ]


def _beyond(series: list[Curve], rings: list[tuple[str, tuple[float, ...], str, None]]) -> str:
    """What is said of rings, and of those that lie below the picture."""
    lowest = min(float(np.nanmin(each.mean())) for each in series) - 0.5
    below = [written(value, 1) for _, values, *_ in rings for value in values if value < lowest]
    return (RINGS + f" Below the axis: {', '.join(below)}." * bool(below)) * bool(rings)


def _kind(index: int) -> str:
    """The colour of the methods from the `index`-th number of prompts."""
    return f"layer {index + 1}"


def _top(run: Run) -> float:
    return float(np.log(run.config.d)) + 1.5


def _against_steps(run: Run, series: list[Curve], also: tuple[float, ...] = (0.0,)) -> Figure:
    """Curves over the steps of a method, with the line of predicting zero, and room for other
    values `also`."""
    lowest = min(*also, *(float(np.nanmin(curve.mean())) for curve in series))
    highest = min(_top(run), max(float(np.nanmax(curve.mean())) for curve in series) + 0.3)
    zero = (
        "zero",
        float(np.log(run.config.d)),
        "floor",
    )  # a short name: a longer one would lie on a band
    figure = figures.curves(
        series,
        "steps of the method",
        "log-loss",
        x_range=(0.85, run.config.layers + 0.15),
        y_range=(lowest - 0.5, max(highest, zero[1] + 0.3)),
        lines=[zero],
        height=HEIGHT,
    )
    figure.update_layout(legend={"title": {"text": "N ="}})
    return figure.update_xaxes(tickvals=_steps(run))


def _table(run: Run, name: str) -> pd.DataFrame:
    mean = log_from_least(run[name]).mean(0)
    return pd.DataFrame(
        {
            "steps": _steps(run),
            **{f"{s} prompts": mean[i] for i, s in enumerate(run["size/prompts"])},
        }
    )
