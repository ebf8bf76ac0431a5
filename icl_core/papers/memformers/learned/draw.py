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
from icl_core.papers.memformers.learned.metrics import excess, lead, power
from icl_core.papers.memformers.learned.settings import View
from icl_core.papers.memformers.shared.draw.losses import printed, written
from icl_core.papers.memformers.shared.draw.stage import HEIGHT, fitted
from icl_core.papers.memformers.shared.load_run import curve, log_from_least, step
from icl_core.papers.memformers.shared.test_set import PROMPTS

DEEPEST = -6.0  # a log-loss below CGD's that the axis of leads still shows
RINGS = " Rings are the paper's points; the paper shows only the training prompts."
BOUNDED = {
    "spheres": "Here x and w* lie on spheres, so that the squared error is bounded, and the "
    "theorem speaks of the blue line.",
    "gaussian": "The squared error is not bounded, and rare prompts rule its mean, so that the "
    "theorem does not speak of the blue line. The median, in which they do not count, stands "
    "beside it.",
}


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
        height=HEIGHT,
        x_range=(sizes[0] / 1.3, sizes[-1] * 1.3),
        y_range=(lowest - 0.8, min(highest, _top(run)) + 0.8),
    )
    # On the right, where few learn worse than that.
    figure.layout["annotations"][1].update(x=0.99, xanchor="right")
    gaps = fresh.mean(0) - own.mean(0)
    if rings:
        points = [("its own prompts", list(rings.values()), "trained", None)]
        figure.add_traces(printed(points, list(rings)))
    return Panel(
        f"Fresh is {written(float(gaps[0]), 1)} worse at N = {sizes[0]:g}, "
        f"{written(float(gaps[-1]), 1)} at {sizes[-1]:g}",
        f"The method of {L} step{'s' * (L > 1)}, on the N prompts that it was learned from and on "
        "fresh ones. Log-loss is the logarithm of the error: one less is 2.7 times smaller. If "
        "the method has learned the task, the two lines meet. If it has learned its prompts by "
        "heart, it is low on them and high on all others." + RINGS * bool(rings),
        fitted(figure.update_xaxes(tickvals=sizes, ticktext=[f"{size:g}" for size in sizes])),
        data=pd.DataFrame(
            {"N": sizes, "fresh prompts": fresh.mean(0), "its own prompts": own.mean(0)}
        ),
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
    ends = log_from_least(run["evaluated/train"])[..., -1].mean(0)  # [N]
    return Panel(
        f"Own prompts reach {written(float(ends[0]), 1)} at {sizes[0]}, "
        f"{written(float(ends[-1]), 1)} at {sizes[-1]}",
        "Each line is a method learned from N prompts, on these very prompts; CGD is on the "
        "fewest. A line far below CGD looks like a better method. Before you believe it, look at "
        "the same methods on fresh prompts, and at the band: much depends on which prompts they "
        "are." + _beyond(series, rings),
        fitted(_against_steps(run, series).add_traces(_unnamed(printed(rings)))),
        data=_table(run, "evaluated/train"),
    )


def fresh(run: Run, view: View) -> Panel:
    """Draw the same methods on fresh prompts, and one learned from infinitely many."""
    endless = Curve("∞", _steps(run), log_from_least(run["endless/loss"]), "floor")
    cg = Curve("CGD", _steps(run), log_from_least(run["baseline/cg"]), "conjugate gradient")
    few = float(log_from_least(run["evaluated/loss"][:, 0, -1]).mean())
    best = float(log_from_least(run["endless/loss"][:, -1]).mean())
    rings = [("CGD", PRINTED_CGD, "conjugate gradient", None)] if _printed(run) else []
    series = [*_by_size(run, "evaluated/loss"), endless, cg]
    figure = _against_steps(run, series, PRINTED_CGD if rings else (0.0,))
    for trace in figure.data:  # the panel beside names the others
        if trace.get("name") != endless.name:
            trace.update(showlegend=False)
    return Panel(
        f"Fresh prompts reach {written(few, 1)} at {run['size/prompts'][0]}, {written(best, 1)} "
        "at ∞",
        f"The same methods on {PROMPTS:,} prompts that no method has seen. “Zero” is predicting "
        "zero; a line may go on beyond the axis. A method that has learned its prompts by heart "
        "lies high, at times above the line of predicting zero. With enough prompts it comes to "
        "the dotted line, the best that its coefficients can do."
        + " Rings are the paper's CGD, which sees 20 examples; the method sees 19."
        * bool(rings),
        fitted(figure.add_traces(_unnamed(printed(rings)))),
        data=_table(run, "evaluated/loss"),
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
    beyond = f" Below the axis: its own prompts at N = {', '.join(below)}." if below else ""
    return Panel(
        _lead_title(sizes, own, fresh),
        f"The error with {run.config.layers} steps or layers against conjugate gradient's on the "
        "very same prompts; below the line the learned method is ahead. Conjugate gradient works "
        "out its steps on each prompt anew and is not trained. A method that learns its few "
        "prompts by heart is ahead on them alone." + beyond,
        figure.update_xaxes(tickvals=sizes, ticktext=[f"{size:g}" for size in sizes]),
        data=pd.DataFrame({"N": sizes, "fresh": fresh.mean(0), "own": own.mean(0)}),
    )


def _lead_title(sizes: np.ndarray, own: np.ndarray, fresh: np.ndarray) -> str:
    """Return up to which N the method is ahead on its own prompts, and where on fresh ones: by two
    standard errors of the seeds' mean."""
    ahead = sizes[_surely_below(own)]
    if len(ahead) == len(sizes):
        kept = "Ahead of CGD on its own prompts at every N"
    elif len(ahead):
        kept = f"Ahead of CGD on its own prompts up to N = {ahead[-1]:g}"
    else:
        kept = "Never ahead of CGD on its own prompts"
    fresh_ahead = sizes[_surely_below(fresh)]
    where = f"from {fresh_ahead[0]:g} on" if len(fresh_ahead) else "at no N"
    return f"{kept}, on fresh ones {where}"


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
    return Panel(
        _risk_title(run, depth),
        "The excess: how much larger a method's error is on fresh prompts than that of one "
        "learned from infinitely many. Theorem 5.1 says that it vanishes for a bounded loss, and "
        "names no rate. Uniform convergence, which the paper's proof cites, usually gives a bound "
        f"that falls like 1/√N, as the dotted line. {BOUNDED[run.config.prompts]} A method that "
        "learns nothing general stays level.",
        figure.update_xaxes(tickvals=sizes, ticktext=[f"{size:g}" for size in sizes]),
        data=pd.DataFrame(
            {"prompts": sizes, "of the mean": mean.mean(0), "of the median": median.mean(0)}
        ),
    )


def _risk_title(run: Run, depth: int) -> str:
    if len(run["size/prompts"]) < 2:
        return "One number of prompts cannot show a fall"
    of_mean, of_median = (written(power(run, depth, of), 1) for of in ("loss", "median"))
    return (
        f"{depth} step{'s' * (depth > 1)}: the excess falls like N to the power {of_mean}, that of "
        f"the median {of_median}"
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
    return Panel(
        f"On fresh prompts the method from the fewest prompts is best at step {least}",
        "The loss on fresh prompts as the method learns from its few. Where it falls, the method "
        "learns the task. Where it rises, it learns its own prompts by heart. Without learning it "
        "would stay level.",
        figure,
        data=pd.DataFrame({"step": steps, "loss": mean}),
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


def _beyond(series: list[Curve], rings: list[tuple[str, tuple[float, ...], str, None]]) -> str:
    """Return what is said of rings, and of those that lie below the picture."""
    if not rings:
        return ""
    lowest = min(float(np.nanmin(each.mean())) for each in series) - 0.5
    below = []
    for _, values, *_ in rings:
        below += [written(value, 1) for value in values if value < lowest]
    return RINGS + f" Below the axis: {', '.join(below)}." * bool(below)


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
