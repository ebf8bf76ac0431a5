"""What is said of log-loss against layers: the findings that a run shows, in sentences with its numbers."""

import numpy as np

from icl_core.experiment import Run
from icl_core.figures import mean_of
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.shared.draw.losses import LABELS, floor_of, written
from icl_core.papers.memformers.shared.read_run import end, variant_beside
from icl_core.papers.memformers.shared.test_set import PROMPTS, log_of
from icl_core.papers.memformers.shared.variants import VARIANTS, Variant

MEDIAN = (
    "This is the median over prompts: half of them lose less. The dotted line is what is best for the mean, and no "
    "bound here: a model may do better on most prompts, and worse on rare ones."
)
CLOSE = 0.1  # log-losses that differ by less count as equal
FEW = 1000  # prompts that the authors evaluate on


def title(run: Run, view: View) -> str:
    """Where the deepest models and CGD end."""
    L = run.config.layers
    key, _ = floor_of(run.config)
    trained, floor, cg = (end(run, name) for name in ("evaluated/loss", f"baseline/{key}", "baseline/cg"))
    moving = VARIANTS[run.config.variant].moves_covariates
    named = "floor without moving covariates" if moving else "floor"
    numbers = f"trained {written(trained)}, {named} {written(floor)}"
    numbers += f", CGD {written(cg)}" if view.average == "mean" else " (medians)"
    return f"At {L} layer{'s' * (L > 1)}: {numbers} (log-loss)"


def caption(run: Run, view: View) -> str:
    """What to look at, and the findings that this run shows."""
    parts = ["Each dot is a model trained for that depth; the lower, the better. A model that learned nothing stays on "
             "the line of predicting zero, log d."]  # fmt: skip
    if view.average == "median":
        parts.append(MEDIAN)
    elif view.overlay != "trained":
        parts += [_power(run), _shared(run), _knowing(run)]
    if view.overlay == "all":
        parts.append("Gradient descent and what is called tuned have the best constant settings for each depth; "
                     "momentum and Nesterov without that word have the authors'.")  # fmt: skip
    return " ".join(part for part in parts if part)


def _power(run: Run) -> str:
    """Finding 1: models of equal power share a floor, so a gap between them is a matter of training."""
    equal = {label: loss for label, variant, loss in _models(run) if variant and variant.equal_power}
    if len(equal) < 2:
        return ""
    ends = [end(run, loss) for loss in equal.values()]
    gap, above = max(ends) - min(ends), min(ends) - end(run, f"baseline/{floor_of(run.config)[0]}")
    *first, last = equal
    who = f"the {', the '.join(first)} and the {last}".replace("the trained", "the trained model")
    if not np.isfinite(gap):
        return ""
    if gap < CLOSE and above < CLOSE:
        reached = f"{who} {'both' if len(equal) == 2 else 'all'} reach it"
        return f"Look at the dotted floor: {reached}, so memory adds no power here, only another path to it."
    batch = "" if run.config.batches == "fresh" else f" (on batches of {run.config.batch:,} that are kept)"
    return (
        f"Look at the dotted floor: {who} share it, so that they end {written(gap)} apart and "
        f"{written(above)} or more above it is a matter of training{batch}, not of power."
    )


def _models(run: Run) -> list[tuple[str, Variant | None, str]]:
    """What the run has trained: label, variant (None where unknown) and the tensor of its loss."""
    own = VARIANTS[run.config.variant]
    ids = run.names("beside")
    beside = [(LABELS.get(each, each), variant_beside(run, each), f"beside/{each}/loss") for each in ids]
    return [("trained", own, "evaluated/loss"), *beside]


def _shared(run: Run) -> str:
    """Finding 2: one Γ for all layers is weaker."""
    name = next((loss for _, variant, loss in _models(run) if variant and variant.id == "shared"), None)
    if name is None or run.config.layers < 2:
        return ""
    above = end(run, name) - end(run, f"baseline/{floor_of(run.config)[0]}")
    return f"One Γ shared by all layers stays {written(above)} above it." if above > CLOSE else ""


def _knowing(run: Run) -> str:
    """Finding 3: whoever knows Σ⁻¹ wins."""
    cg, pcg, own = (mean_of(log_of(run[f])) for f in ("baseline/cg", "baseline/pcg", "evaluated/loss"))
    ahead = (pcg < cg - 1e-3) | ~np.isfinite(pcg)  # solved exactly
    if not ahead.all():
        even = np.allclose(np.nan_to_num(cg), np.nan_to_num(pcg), atol=0.02)
        return "All eigenvalues of Σ are alike, so Σ⁻¹ adds nothing to CGD." if even else ""
    too = bool(((pcg < own) | ~np.isfinite(pcg)).all())
    return (
        "CGD preconditioned with Σ⁻¹ (dashed) is ahead of plain CGD at every depth"
        + (", and of the trained model too" if too else "")
        + ": what beats CGD is knowing Σ⁻¹."
    )


def note(run: Run) -> str:
    """How exact the means are."""
    error, n, d = float(mean_of(run["evaluated/error"])[-1]), run.config.n, run.config.d
    few = error * (PROMPTS / FEW) ** 0.5
    text = (
        f"Natural logarithms, on {PROMPTS:,} fresh prompts. Standard error at {run.config.layers} layers: "
        f"± {error:.2g}. Losses have heavy tails: on {FEW} prompts the same mean would be off by ± {few:.2g}."
    )
    if n >= d:
        return text
    return text + (
        f" With {n} examples for {d} unknowns the problem is underdetermined: least squares takes the smallest w that "
        "fits, and even it misses w*."
    )
