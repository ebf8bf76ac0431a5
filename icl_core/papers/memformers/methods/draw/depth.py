"""Log-loss against the number of layers, beside every classical method and the floors (Figures 1 to
4)."""

import numpy as np
import pandas as pd

from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Trace
from icl_core.figures import Curve, mean_of
from icl_core.papers.memformers.methods import printed_curves
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.shared.draw import losses
from icl_core.papers.memformers.shared.draw.losses import (
    FULL,
    LABELS,
    NEUTRAL,
    SCALAR,
    tabled,
    trained_name,
    written,
)
from icl_core.papers.memformers.shared.load_run import end, log_of, variant_beside
from icl_core.papers.memformers.shared.test_set import PROMPTS
from icl_core.papers.memformers.shared.variants import VARIANTS, Variant

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
MEDIAN = (
    "You see the median over prompts: half of them have a smaller error. The dotted line is the "
    "best for the mean. It is no bound here: a model may be better on most prompts, and worse on "
    "rare ones."
)
RINGS = (
    " Rings are the paper's points. Whiskers are two standard deviations of a mean over 1000 "
    "prompts, as many as the authors test on. Their classical methods see 19 of the 20 examples."
)
COMPLEX = (
    "The best polynomial has complex roots here, for the labels have noise: steps without memory "
    "are real and cannot make it. Look at the dotted floor: only models with memory reach it."
)
# the labels of trained models that are no nouns
NOUNS = {
    "trained": "the trained model",
    "CGD-like": "the CGD-like Memformer",
    "LFOM": "the LFOM Memformer",
    "one head": "the model with one head",
    "Γ shared": "the Memformer with one Γ for all layers",
    "Γ free": "the Memformer with Γ free",
}
RIDGE = "ridge, the best of all methods"
CLOSE = 0.1  # log-losses that differ by less count as equal
FEW = 1000  # prompts that the authors evaluate on


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
    return Panel(
        _title(run, view),
        _caption(run, view) + RINGS * bool(ringed and printed_curves.fresh(run)),
        figure.add_traces(rings(run, view.overlay)) if ringed else figure,
        data=_table(run),
        note=_note(run) if view.average == "mean" else "",
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


def _title(run: Run, view: View) -> str:
    """Return where the deepest models and CGD end."""
    L = run.config.layers
    key, _ = losses.floor_of(run.config)
    trained, floor, cg = (
        end(run, name) for name in ("evaluated/loss", f"baseline/{key}", "baseline/cg")
    )
    moving = VARIANTS[run.config.variant].moves_covariates
    named = "floor without moving covariates" if moving else "floor"
    numbers = f"trained {written(trained)}, {named} {written(floor)}"
    numbers += f", CGD {written(cg)}" if view.average == "mean" else " (medians)"
    return f"Log-loss with {L} layer{'s' * (L > 1)}: {numbers}"


def _caption(run: Run, view: View) -> str:
    """Return what to look at, and the findings that this run shows."""
    parts = [
        "Each dot is a model trained for that depth; lower is better. Log-loss is the logarithm "
        "of the squared error: one less is an error 2.7 times smaller. A model that has learned "
        "nothing stays at predicting zero, log d."
    ]
    if view.average == "median":
        parts.append(MEDIAN)
    elif view.overlay != "trained":
        parts += [_power(run), _shared(run), _knowing(run)]
    if view.overlay == "all":
        parts.append(
            "Gradient descent and the methods called tuned have the best constant settings for "
            "each depth; momentum and Nesterov without that word have the authors'."
        )
    return " ".join(part for part in parts if part)


def _power(run: Run) -> str:
    """Return finding 1, where models of equal power were trained: they share a floor, so a gap
    between them is a matter of training."""
    equal = {
        label: loss for label, variant, loss in _models(run) if variant and variant.equal_power
    }
    if len(equal) < 2:
        return ""
    ends = [end(run, loss) for loss in equal.values()]
    gap = max(ends) - min(ends)
    above = min(ends) - end(run, f"baseline/{losses.floor_of(run.config)[0]}")
    *first, last = equal
    if not np.isfinite(run["reference/floor_steps"][-1, -1]):
        return COMPLEX
    who = f"{', '.join(map(_noun, first))} and {_noun(last)}"
    if not np.isfinite(gap):
        return ""
    if gap < CLOSE and above < CLOSE:
        reached = f"{who} {'both' if len(equal) == 2 else 'all'} reach it"
        return (
            f"Look at the dotted floor: {reached}. Memory adds no power here, only another way to "
            "get there."
        )
    batch = ""
    if run.config.batches != "fresh":
        batch = f" (on batches of {run.config.batch:,} that are kept)"
    return (
        f"Look at the dotted floor: {who} could both reach it. That they end {written(gap)} apart, "
        f"and {written(above)} or more above it, is a matter of training{batch}, not of power."
    )


def _noun(label: str) -> str:
    """Return what a legend calls a model as a noun of a sentence."""
    if label in NOUNS:
        return NOUNS[label]
    if label.startswith("learned in"):
        return f"the one {label}"
    return f"the {label}"


def _models(run: Run) -> list[tuple[str, Variant | None, str]]:
    """Return what the run has trained: label, variant (None where unknown) and the tensor of its
    loss."""
    own = VARIANTS[run.config.variant]
    beside = [
        (LABELS.get(id, id), variant_beside(run, id), f"beside/{id}/loss")
        for id in run.names("beside")
    ]
    return [("trained", own, "evaluated/loss"), *beside]


def _shared(run: Run) -> str:
    """Return finding 2, where such a model was trained: one Γ for all layers is weaker."""
    name = next(
        (loss for _, variant, loss in _models(run) if variant and variant.id == "shared"), None
    )
    if name is None or run.config.layers < 2:
        return ""
    above = end(run, name) - end(run, f"baseline/{losses.floor_of(run.config)[0]}")
    return f"One Γ shared by all layers stays {written(above)} above it." if above > CLOSE else ""


def _knowing(run: Run) -> str:
    """Return finding 3, where it holds: conjugate gradient that knows Σ⁻¹ wins, up to d − 1 layers;
    after d steps both are exact."""
    before = max(1, run.config.d - 1)
    cg, pcg, own = (
        mean_of(log_of(run[name]))[:before]
        for name in ("baseline/cg", "baseline/pcg", "evaluated/loss")
    )
    ahead = (pcg < cg - 1e-3) | ~np.isfinite(pcg)  # solved exactly
    if not ahead.all():
        even = np.allclose(np.nan_to_num(cg), np.nan_to_num(pcg), atol=0.02)
        return "All eigenvalues of Σ are alike, so that Σ⁻¹ adds nothing to CGD." if even else ""
    too = bool(((pcg < own) | ~np.isfinite(pcg)).all())
    whom = "plain CGD and of the trained model" if too else "plain CGD"
    later = f" up to {before}; after d steps both are done" * (run.config.layers > before)
    return (
        f"CGD that is given Σ⁻¹ (dashed) is ahead of {whom} at every depth{later}. To know Σ⁻¹, "
        "and how S varies from prompt to prompt, is what lets fixed steps beat plain CGD."
    )


def _note(run: Run) -> str:
    """Return how exact the means are."""
    n = run.config.n
    d = run.config.d
    error = float(mean_of(run["evaluated/error"])[-1])
    key, _ = losses.floor_of(run.config)
    noise = float(run["reference/noise" + key.removeprefix("floor")][-1])
    layers = f"{run.config.layers} layer{'s' * (run.config.layers > 1)}"
    text = f"Natural logarithms, on {PROMPTS:,} fresh prompts. "
    if key == "floor":
        text += (
            "The floor is exact, from the moments of the Wishart distribution. A trained mean is "
            "corrected by what the floor's own method has on these prompts in place of its exact "
            "loss. "
        )
    text += (
        f"Standard error with {layers}: ± {error:.2g}. A few prompts have very large errors: a "
        f"mean over {FEW} prompts and their queries would be off by ± {noise:.2g}."
    )
    if n >= d:
        return text
    return text + (
        f" With {n} examples for {d} unknowns the problem is underdetermined: least squares takes "
        "the smallest w that fits, and misses w* as well."
    )
