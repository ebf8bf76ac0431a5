"""What can be drawn of methods learned from a number of prompts: their loss on these, on fresh
ones, and against it."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.claims import agree
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve
from icl_core.papers.memformers.learned.claims import (
    AUTHORS,
    PRINTED,
    PRINTED_CGD,
    excess,
    lead,
    power,
)
from icl_core.papers.memformers.learned.settings import View
from icl_core.papers.memformers.learned.words import WORDS
from icl_core.papers.memformers.shared.draw.losses import SEAT, fitted, printed, written
from icl_core.papers.memformers.shared.load_run import curve, log_from_least, step

DEEPEST = -6.0  # a log-loss below CGD's that the axis of leads still shows


def gap(run: Run, view: View) -> Panel:
    """Draw the log-loss on own and on fresh prompts against the number of prompts learned from."""
    sizes = run["size/prompts"].astype(float)
    L = run.config.layers
    fresh = log_from_least(run["evaluated/loss"][..., -1])  # [seeds, N]
    own = log_from_least(run["evaluated/train"][..., -1])
    series = [
        Curve("fresh prompts", sizes, fresh, "trained", "solid", markers=True),
        Curve("its own prompts", sizes, own, "trained", "dot", markers=True),
    ]
    best = float(log_from_least(run["endless/loss"])[:, -1].mean())
    zero = float(np.log(run.config.d))
    lines = [("N = ∞", best, "floor"), ("predicting zero", zero, "floor")]
    rings = {size: points[L - 1] for size, points in _printed(run).items() if len(points) >= L}
    lowest = min(float(fresh.mean(0).min()), float(own.mean(0).min()), *rings.values())
    highest = max(zero, float(fresh.mean(0).max()), float(own.mean(0).max()))
    figure = figures.curves(
        series,
        "prompts learned from, N",
        "log-loss",
        log_x=True,
        lines=lines,
        height=SEAT,
        x_range=(sizes[0] / 1.3, sizes[-1] * 1.3),
        y_range=(lowest - 0.8, min(highest, _top(run)) + 0.8),
    )
    # On the right, where few learn worse than that.
    figure.layout["annotations"][1].update(x=0.99, xanchor="right")
    if rings:
        points = [("its own prompts", list(rings.values()), "trained", None)]
        figure.add_traces(printed(points, list(rings)))
    return WORDS.panel(
        "gap",
        run,
        view,
        fitted(figure.update_xaxes(tickvals=sizes, ticktext=[f"{size:g}" for size in sizes])),
        data=pd.DataFrame(
            {"N": sizes, "fresh prompts": fresh.mean(0), "its own prompts": own.mean(0)}
        ),
        ringed=bool(rings),
    )


def own(run: Run, view: View) -> Panel:
    """Draw the log-loss against steps on the prompts that were learned from (Figure 11)."""
    cg = log_from_least(run["baseline/cg_train"])[:, 0]  # [seeds, K], on the fewest
    series = [
        *_by_size(run, "evaluated/train"),
        Curve("CGD", _steps(run), cg, "conjugate gradient"),
    ]
    sizes = run["size/prompts"].tolist()
    rings = [
        (f"{size}", points, _kind(sizes.index(size)), None)
        for size, points in _printed(run).items()
    ]
    return WORDS.panel(
        "own",
        run,
        view,
        fitted(_against_steps(run, series).add_traces(_unnamed(printed(rings)))),
        data=_table(run, "evaluated/train"),
        ringed=bool(rings),
        below=_below(series, rings),
    )


def fresh(run: Run, view: View) -> Panel:
    """Draw the same methods on fresh prompts, and one learned from infinitely many."""
    endless = Curve("∞", _steps(run), log_from_least(run["endless/loss"]), "floor")
    cg = Curve("CGD", _steps(run), log_from_least(run["baseline/cg"]), "conjugate gradient")
    rings = [("CGD", PRINTED_CGD, "conjugate gradient", None)] if _printed(run) else []
    series = [*_by_size(run, "evaluated/loss"), endless, cg]
    figure = _against_steps(run, series, PRINTED_CGD if rings else (0.0,))
    for trace in figure.data:  # the panel beside names the others
        if trace.get("name") != endless.name:
            trace.update(showlegend=False)
    return WORDS.panel(
        "fresh",
        run,
        view,
        fitted(figure.add_traces(_unnamed(printed(rings)))),
        data=_table(run, "evaluated/loss"),
        ringed=bool(rings),
    )


def against_cg(run: Run, view: View) -> Panel:
    """Draw the learned method's log-loss less conjugate gradient's against the number of prompts,
    on these and on fresh ones."""
    sizes = run["size/prompts"].astype(float)
    own, fresh = lead(run)  # [seeds, N] each
    series = [
        Curve("fresh prompts", sizes, fresh, "trained", "solid", markers=True),
        Curve("its own prompts", sizes, own, "trained", "dot", markers=True),
    ]
    top = max(1.0, float(fresh.mean(0).max()), float(own.mean(0).max())) + 0.5
    lowest = max(DEEPEST, float(min(own.mean(0).min(), fresh.mean(0).min()))) - 0.5
    figure = figures.curves(
        series,
        "prompts learned from, N",
        "log-loss less CGD's",
        log_x=True,
        lines=[("as good as CGD", 0.0, "conjugate gradient")],
        x_range=(sizes[0] / 1.3, sizes[-1] * 1.3),
        y_range=(lowest, top),
    )
    below = [f"{size:g}" for size, mean in zip(sizes, own.mean(0), strict=True) if mean < lowest]
    own_ahead = sizes[_surely_below(own)]
    fresh_ahead = sizes[_surely_below(fresh)]
    return WORDS.panel(
        "against_cg",
        run,
        view,
        figure.update_xaxes(tickvals=sizes, ticktext=[f"{size:g}" for size in sizes]),
        data=pd.DataFrame({"N": sizes, "fresh": fresh.mean(0), "own": own.mean(0)}),
        ahead=2 if len(own_ahead) == len(sizes) else int(len(own_ahead) > 0),
        last_ahead=int(max(own_ahead, default=0)),
        fresh_ahead=len(fresh_ahead) > 0,
        first_ahead=int(min(fresh_ahead, default=0)),
        below=", ".join(below),
    )


def _surely_below(gaps: np.ndarray) -> np.ndarray:
    """Return where the mean over seeds of gaps [seeds, N] is below zero by two standard errors."""
    errors = gaps.std(0, ddof=1) / len(gaps) ** 0.5 if len(gaps) > 1 else 0.0
    return gaps.mean(0) + 2 * errors < 0


def risk(run: Run, view: View) -> Panel:
    """Draw the excess risk against the number of prompts (Theorem 5.1), of the mean and of the
    median."""
    depth = min(view.steps_shown, run.config.layers)
    sizes = run["size/prompts"].astype(float)
    mean = _positive(excess(run, depth, "loss"))
    median = _positive(excess(run, depth, "median"))
    root = np.nanmean(mean[:, 0]) * (sizes / sizes[0]) ** -0.5
    series = [
        Curve("of the mean", sizes, mean, "trained", band="minmax", markers=True),
        Curve("of the median", sizes, median, "layer 2", "dash", markers=True),
        Curve("N to the power -1/2", sizes, root, "floor"),
    ]
    figure = figures.curves(
        series, "prompts learned from, N", "excess risk", log_x=True, log_y=True
    )
    return WORDS.panel(
        "risk",
        run,
        view,
        figure.update_xaxes(tickvals=sizes, ticktext=[f"{size:g}" for size in sizes]),
        data=pd.DataFrame(
            {"prompts": sizes, "of the mean": mean.mean(0), "of the median": median.mean(0)}
        ),
        several=len(sizes) > 1,
        depth=depth,
        power_of_mean=power(run, depth, "loss"),
        power_of_median=power(run, depth, "median"),
        bounded=run.config.prompts == "spheres",
    )


def _positive(values: np.ndarray) -> np.ndarray:
    """Return the values, NaN where a method that learned from N prompts is no worse than one from
    infinitely many."""
    return np.where(values > 0, values, np.nan)


def training(run: Run, view: View) -> Panel:
    """Draw the loss on fresh prompts while the method of most steps learns from the fewest."""
    steps = step(run)
    loss = curve(run, "curve/loss")
    figure = figures.curves(
        [Curve("fresh prompts", steps, loss, "trained")], "training step", "loss", log_y=True
    )
    mean = figures.mean_of(loss)
    least = int(steps[np.nanargmin(mean)]) if np.isfinite(mean).any() else 0
    return WORDS.panel(
        "training",
        run,
        view,
        figure,
        data=pd.DataFrame({"step": steps, "loss": mean}),
        best_step=least,
    )


def _printed(run: Run) -> dict[int, tuple[float, ...]]:
    """Return what the authors' code prints of the methods' own prompts, by their number; nothing
    in other settings. The number of layers may be another: then fewer points are drawn."""
    setting = {name: value for name, value in AUTHORS.items() if name != "layers"}
    if not agree(run.config, setting) or run.config.prompts != "gaussian":
        return {}
    return {
        size: PRINTED[size][: run.config.layers]
        for size in run["size/prompts"].tolist()
        if size in PRINTED
    }


def _unnamed(traces: list[Trace]) -> list[Trace]:
    """Return traces that the first panel names without names of their own."""
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


def _below(series: list[Curve], rings: list[tuple[str, tuple[float, ...], str, None]]) -> str:
    """Return the values of rings that lie below the picture."""
    lowest = min(float(np.nanmin(curve.mean())) for curve in series) - 0.5
    values = [value for _, points, *_ in rings for value in points]
    return ", ".join(written(value, 1) for value in values if value < lowest)


def _kind(index: int) -> str:
    """Return the colour of the methods from the `index`-th number of prompts."""
    return f"layer {index + 1}"


def _top(run: Run) -> float:
    return float(np.log(run.config.d)) + 1.5


def _against_steps(run: Run, series: list[Curve], also: tuple[float, ...] = (0.0,)) -> Figure:
    """Return curves over the steps of a method, with the line of predicting zero, and room for
    other values `also`."""
    lowest = min(*also, *(float(np.nanmin(curve.mean())) for curve in series))
    highest = min(_top(run), max(float(np.nanmax(curve.mean())) for curve in series) + 0.3)
    # A short name: a longer one would lie on a band.
    zero = ("zero", float(np.log(run.config.d)), "floor")
    figure = figures.curves(
        series,
        "steps of the method",
        "log-loss",
        x_range=(0.85, run.config.layers + 0.15),
        y_range=(lowest - 0.5, max(highest, zero[1] + 0.3)),
        lines=[zero],
        height=SEAT,
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
