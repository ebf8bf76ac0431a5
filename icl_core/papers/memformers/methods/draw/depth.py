"""Log-loss against the number of layers: beside every classical method and the floors (Figures 1 to
4), on the authors' prompts, on a model's own prompts (Figures 5 and 6), and against what layers of
GD++ cost; and how far training batches differ."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.contract.figure import Trace
from icl_core.contract.statistics import mean_and_error
from icl_core.figures import Curve
from icl_core.papers.memformers.methods.claims import kept_batches, printed_curves
from icl_core.papers.memformers.methods.findings import findings
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.methods.words import WORDS
from icl_core.papers.memformers.shared.draw import losses
from icl_core.papers.memformers.shared.draw.losses import (
    FULL,
    NEUTRAL,
    SCALAR,
    tabled,
    trained_name,
)
from icl_core.papers.memformers.shared.load_run import end, log_of

# of a baseline, by id: name, colour, dash, overlay from which it is drawn
METHODS = {
    "cg": ("CGD", "conjugate gradient", None, "main"),
    "pcg": ("CGD with Σ⁻¹", "conjugate gradient", "dash", "main"),
    "gd": ("gradient descent", "gradient descent", None, "all"),
    "momentum": ("momentum", "momentum", "dash", "all"),
    "momentum_tuned": ("momentum, tuned", "momentum", "dot", "all"),
    "nesterov": ("Nesterov", "nesterov", "dash", "all"),
    "nesterov_tuned": ("Nesterov, tuned", "nesterov", "dot", "all"),
}
RIDGE = "ridge, the best of all methods"
WIDE = 0.3  # between both log-losses: the batch has been learned


def depth_panel(run: Run, view: View) -> Panel:
    """Draw the natural log of the mean (or median) loss on fresh prompts, a model of its own for
    every depth."""
    if view.average == "median":
        run = typical(run)
    series = [*_classical(run, view), *_trained(run, view), *_floors(run, view)]
    zero = float(np.log(run.config.d))
    y_title = "log-loss" + " of the median" * (view.average == "median")
    figure = losses.over_layers(series, y_title, limits(run, zero), zero)
    ringed = view.average == "mean" and view.overlay != "trained"
    return WORDS.panel(
        "depth",
        run,
        view,
        figure.add_traces(rings(run, view.overlay)) if ringed else figure,
        data=_table(run),
        mean=view.average == "mean",
        findings=findings(run, view),
        every=view.overlay == "all",
        ringed=ringed and bool(printed_curves.fresh(run)),
    )


def rings(run: Run, overlay: str = "main") -> list[Trace]:
    """Return rings where the paper prints a loss in this setting, of the methods that are drawn."""
    styles = {"evaluated/loss": ("trained", "trained")}
    others = zip(run.names("beside"), losses.BESIDE, strict=False)
    styles |= {
        f"beside/{name}/loss": (losses.LABELS.get(name, name), kind) for name, kind in others
    }
    styles |= {
        f"baseline/{id}": (label, kind)
        for id, (label, kind, _, when) in METHODS.items()
        if when in ("main", overlay)
    }
    return losses.printed(
        (styles[name][0], curve, styles[name][1], spread)
        for name, (curve, spread) in printed_curves.fresh(run).items()
        if name in styles
    )


def typical(run: Run) -> Run:
    """Return the run with the median over prompts in the place of the mean: what a prompt that is
    not rare meets."""
    renamed = {
        name.replace("/median", "/loss").removesuffix("_median"): array
        for name, array in run.tensors.items()
        if "median" in name
    }
    return Run(run.config, {**run.tensors, **renamed}, run.info, run.digest, run.finished)


def _trained(run: Run, view: View) -> list[Curve]:
    """Return the trained model's curve, and above it those of what was trained beside it, which are
    dashed: where two coincide, both are seen."""
    x = run["depth/layers"]
    curves = [Curve(trained_name(run), x, log_of(run["evaluated/loss"]), "trained", markers=True)]
    if view.overlay != "trained":
        others = losses.reference_curves(run, "beside/{}/loss")
        curves += [Curve(name, x, logs, kind, "dash", markers=True) for name, logs, kind in others]
    return curves


def _classical(run: Run, view: View) -> list[Curve]:
    if view.overlay == "trained":
        return []
    chosen = {
        name: curve for name, overlay, curve in _baselines(run) if overlay in ("main", view.overlay)
    }
    if view.average == "median":  # CGD's is over w* as well, which the others have integrated out
        chosen = {
            name: curve
            for name, curve in chosen.items()
            if f"baseline/{name}_median" in run.tensors
        }
    return list(chosen.values())


def _baselines(run: Run) -> list[tuple[str, str, Curve]]:
    """Return id, overlay and curve of each baseline that the run has evaluated; one that `METHODS`
    lacks is drawn plainly."""
    x = run["depth/layers"]
    rows = []
    for id in run.names("baselines"):
        label, kind, dash, overlay = METHODS.get(id, (id, NEUTRAL, None, "main"))
        curve = Curve(label, x, log_of(run[f"baseline/{id}"]), kind, dash, markers=True)
        rows.append((id, overlay, curve))
    return rows


def _floors(run: Run, view: View) -> list[Curve]:
    own = losses.floor_of(run.config)
    other = ("floor", FULL) if own[0] == "floor_scalar" else ("floor_scalar", SCALAR)
    drawn = [own, other] if view.overlay == "all" else [own]
    curves = [
        Curve(label, run["depth/layers"], log_of(run[f"baseline/{key}"]), "floor")
        for key, label in drawn
    ]
    return [*curves, *ridge(run)]


def ridge(run: Run) -> list[Curve]:
    """Return the line of ridge regression, which no method passes, where labels have noise."""
    if not run.config.noise:
        return []
    logs = log_of(run["baseline/ridge"])
    return [Curve(RIDGE, run["depth/layers"], logs, "construction", "dot")]


def limits(run: Run, zero: float) -> tuple[float, float]:
    """Return the range of log-losses, the same for every overlay: a method that explodes, or solves
    all prompts exactly, leaves the picture."""
    kept = [
        log_of(run[name]) for name in ("evaluated/loss", "baseline/floor", "baseline/floor_scalar")
    ]
    falling = [log_of(run[name]) for name in ("baseline/cg", "baseline/pcg")]
    return losses.window([*kept, [zero]], falling)


def _table(run: Run) -> pd.DataFrame:
    x = run["depth/layers"]
    others = losses.reference_curves(run, "beside/{}/loss")
    series = [Curve("trained", x, log_of(run["evaluated/loss"]))]
    series += [Curve(name, x, logs) for name, logs, _ in others]
    series += [curve for *_, curve in _baselines(run)]
    for label, key in ((FULL, "floor"), (SCALAR, "floor_scalar")):
        series.append(Curve(label, x, log_of(run[f"baseline/{key}"])))
    return tabled("layers", x, series)


def is_printed(config: object) -> bool:
    """Return whether something is printed of a setting on the authors' own prompts."""
    return any(row.claim.is_at(config) and not row.minus for row in printed_curves.ROWS)


def as_printed_panel(run: Run, view: View) -> Panel:
    """Draw each curve on the authors' own prompts, and rings where the paper has it."""
    rows = [row for row in printed_curves.rows_of(run) if not row.minus]
    x = run["depth/layers"]
    zero = float(np.log(run.config.d))
    logs = {row.name: row.measured(run) for row in rows}
    count = max(map(len, (row.curve for row in rows)), default=len(x))
    series = [Curve(row.name, x[:count], logs[row.name], row.kind, markers=True) for row in rows]
    points = [(row.name, row.curve, row.kind, None) for row in rows]
    y_range = losses.window([*logs.values(), *(row.curve for row in rows), [zero]])
    figure = losses.over_layers(series, "log-loss", y_range, zero)
    gaps = {row.name: float(np.abs(logs[row.name].mean(0) - row.curve).max()) for row in rows}
    worst = max(gaps, key=lambda name: gaps[name])
    columns = {"layers": x[:count]}
    for row in rows:
        columns[row.name] = logs[row.name].mean(0).round(3)
        columns[f"{row.name}, printed"] = np.array(row.curve)
    return WORDS.panel(
        "as_printed",
        run,
        view,
        figure.add_traces(losses.printed(points)),
        data=pd.DataFrame(columns),
        gap=gaps[worst],
        curve=worst,
    )


def spread_panel(run: Run, view: View) -> Panel:
    """Draw on which training batches the model is ahead, and by how much."""
    differences = np.sort(kept_batches.over_batches(run))  # [seeds]
    mean, error = mean_and_error(differences)
    if error is None:
        raise CannotDraw("Each seed has a training batch of its own: two are needed for a spread.")
    figure = figures.curves(
        [Curve("a batch", np.arange(1, len(differences) + 1), differences, markers=True)],
        "training batches, the best first",
        "difference in log-loss",
        lines=[("no difference", 0.0, "floor"), ("mean", mean, "trained")],
    )
    return WORDS.panel(
        "spread",
        run,
        view,
        figure,
        lower=int((differences < 0).sum()),
        batches=len(differences),
        mean=mean,
        error=error,
        one_head=kept_batches.has_one_head(run.config),
        few=run.config.batch <= kept_batches.FEW,
    )


def overfit_panel(run: Run, view: View) -> Panel:
    """Draw training and fresh loss by depth, for the trained model and for CGD."""
    x = run["depth/layers"]
    zero = float(np.log(run.config.d))
    logs = {name: log_of(run[key]) for name, key in _lines(run).items()}
    kinds = {
        name: "trained" if name.startswith("trained") else "conjugate gradient" for name in logs
    }
    dashes = {name: "solid" if "fresh" in name else "dot" for name in logs}
    series = [
        Curve(name, x, y, kinds[name], dashes[name], markers=True) for name, y in logs.items()
    ]
    fresh = [y for name, y in logs.items() if "fresh" in name]
    figure = losses.over_layers(
        series, "log-loss", losses.window([*fresh, [zero]], [*logs.values()]), zero
    )
    own, new = (end(run, f"evaluated/{measure}") for measure in ("train", "loss"))
    ahead = "baseline/cg_train" in run.tensors and own < end(run, "baseline/cg_train")
    return WORDS.panel(
        "overfit",
        run,
        view,
        figure,
        data=tabled("layers", x, series),
        fresh_batches=run.config.batches == "fresh",
        outcome=_outcome(new, new - own, zero),
        worse_than_zero=new > zero,
        ahead_on_own_alone=ahead and new > end(run, "baseline/cg"),
        changing=run.config.batches == "resampled",
    )


def _lines(run: Run) -> dict[str, str]:
    batch = "prompts in training" if run.config.batches == "fresh" else "its own batch"
    own = {"trained, fresh prompts": "evaluated/loss", f"trained, {batch}": "evaluated/train"}
    classical = {"CGD, fresh prompts": "baseline/cg", "CGD, that batch": "baseline/cg_train"}
    return {name: key for name, key in (own | classical).items() if key in run.tensors}


def _outcome(fresh: float, gap: float, zero: float) -> int:
    """Return what the log-losses on fresh prompts, on own ones (by their `gap`), and of predicting
    zero show: nothing, that the model has learned nothing, or the task, or its prompts."""
    if not np.isfinite(gap):
        return 0
    if gap < WIDE:
        return 1 if fresh >= zero else 2
    return 3
