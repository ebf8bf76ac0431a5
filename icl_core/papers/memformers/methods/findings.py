"""What a run's losses by depth show: the texts of three findings, where they hold."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.figures import mean_of
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.methods.words import CLOSE, WORDS, floor
from icl_core.papers.memformers.shared.draw.losses import LABELS
from icl_core.papers.memformers.shared.load_run import end, log_of, variant_beside
from icl_core.papers.memformers.shared.variants import VARIANTS, Variant

# the labels of trained models that are no nouns
NOUNS = {
    "trained": "the trained model",
    "CGD-like": "the CGD-like Memformer",
    "LFOM": "the LFOM Memformer",
    "one head": "the model with one head",
    "Γ shared": "the Memformer with one Γ for all layers",
    "Γ free": "the Memformer with Γ free",
}


def findings(run: Run, view: View) -> str:
    """Return what a run's losses by depth show, a text for each finding."""
    if view.average == "median":
        texts = [WORDS.text("median")]
    elif view.overlay == "trained":
        texts = []
    else:
        texts = [_power(run), _shared(run), _knowing(run)]
    return "".join(f" {text}" for text in texts if text)


def _power(run: Run) -> str:
    """Return finding 1, where models of equal power were trained: they share a floor, so a gap
    between them is a matter of training."""
    equal = {
        label: loss for label, variant, loss in _models(run) if variant and variant.equal_power
    }
    if len(equal) < 2:
        return ""
    if not np.isfinite(run["reference/floor_steps"][-1, -1]):
        return WORDS.text("complex floor")
    ends = [end(run, loss) for loss in equal.values()]
    apart = max(ends) - min(ends)
    if not np.isfinite(apart):
        return ""
    *first, last = map(noun, equal)
    models = f"{', '.join(first)} and {last}"
    least = min(ends) - floor(run)
    if apart < CLOSE and least < CLOSE:
        return WORDS.text("equal power", models=models, two=len(equal) == 2)
    keeps_batches = run.config.batches != "fresh"
    numbers = {"models": models, "apart": apart, "above": least, "kept": keeps_batches}
    return WORDS.text("unequal training", run, **numbers)


def noun(label: str) -> str:
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
    losses = [loss for _, variant, loss in _models(run) if variant and variant.id == "shared"]
    if not losses or run.config.layers < 2:
        return ""
    lost = end(run, losses[0]) - floor(run)
    return WORDS.text("shared", above=lost) if lost > CLOSE else ""


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
        return WORDS.text("equal eigenvalues") if even else ""
    return WORDS.text(
        "knowing",
        model_too=bool(((pcg < own) | ~np.isfinite(pcg)).all()),
        deeper=run.config.layers > before,
        before=before,
    )
