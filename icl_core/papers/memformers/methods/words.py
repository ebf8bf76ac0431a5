"""The numbers in words.md, what a run's losses by depth show, and which answers are right."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import first_at
from icl_core.contract.words import Reading, Words
from icl_core.figures import mean_of
from icl_core.papers.memformers.methods import decode, iterates
from icl_core.papers.memformers.methods.claims import printed_curves
from icl_core.papers.memformers.methods.settings import Config, View
from icl_core.papers.memformers.shared import test_set
from icl_core.papers.memformers.shared.draw.losses import LABELS, floor_of
from icl_core.papers.memformers.shared.load_run import (
    depth_of,
    end,
    log_of,
    step_of,
    variant_beside,
)
from icl_core.papers.memformers.shared.variants import VARIANTS, Variant
from icl_core.papers.memformers.shared.words import EXAMPLE, above, compared

ALIKE = 0.1  # the logarithm of a ratio of errors: within 10% they count as equal
CLOSE = 0.1  # log-losses that differ by less count as equal
FEW = 1000  # prompts that the authors evaluate on
# the labels of trained models that are no nouns
NOUNS = {
    "trained": "the trained model",
    "CGD-like": "the CGD-like Memformer",
    "LFOM": "the LFOM Memformer",
    "one head": "the model with one head",
    "Γ shared": "the Memformer with one Γ for all layers",
    "Γ free": "the Memformer with Γ free",
}


def log_loss_shown(run: Run, view: View) -> float:
    """Return the deepest model's log-loss on fresh prompts at the step shown, the mean over
    seeds."""
    if run.snapshot_at(view) == len(run.snapshot_steps) - 1:
        return end(run, "evaluated/loss")
    return float(np.interp(run.step(view), run["curve/step"], mean_of(log_of(run["curve/loss"]))))


def headline(run: Run, view: View) -> str:
    """Return what you see: the deepest model's error at the step shown, beside conjugate gradient's
    and, once training has begun, its floor."""
    name = "headline"
    if run.config.n < run.config.d:
        name = "headline underdetermined"
    elif not run.step(view):  # what can be reached is asked before it is shown
        name = "headline before training"
    elif VARIANTS[run.config.variant].moves_covariates:
        name = "headline moving covariates"
    return WORDS.text(name, run, view)


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
    least = min(ends) - _floor(run)
    if apart < CLOSE and least < CLOSE:
        return WORDS.text("equal power", models=models, two=len(equal) == 2)
    kept = run.config.batches != "fresh"
    numbers = {"models": models, "apart": apart, "above": least, "kept": kept}
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
    lost = end(run, losses[0]) - _floor(run)
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


def _floor(run: Run) -> float:
    return end(run, f"baseline/{floor_of(run.config)[0]}")


def _passes(run: Run) -> float | None:
    """Return the step of the first snapshot at which the deepest model is ahead of conjugate
    gradient; None if it never is."""
    cg = end(run, "baseline/cg")
    shown = (log_loss_shown(run, View(snapshot=i)) for i in range(len(run.snapshot_steps)))
    return first_at(run.snapshot_steps, (log_loss < cg for log_loss in shown))


def _over_cg(run: Run) -> float:
    return end(run, "evaluated/loss") - end(run, "baseline/cg")


def _without_over_with(run: Run) -> float:
    return end(run, "beside/linear/loss") - end(run, "evaluated/loss")


def _ahead(run: Run, view: View) -> int:
    over = _over_cg(run)
    return 2 if abs(over) < ALIKE else int(over > 0)


def _memory(run: Run, view: View) -> int:
    return int(np.digitize(-_without_over_with(run), (-np.log(2), -ALIKE)))


def _ends(name: str) -> Reading:
    """Return the reading of a log-loss of the deepest models."""
    return lambda run, view: end(run, name)


def _over(name: str, run: Run, view: View) -> float:
    """Return how far the log-loss at the step shown is above the end of another."""
    return log_loss_shown(run, view) - end(run, name)


def _learned_memory(run: Run, view: View) -> float:
    snapshot = run.snapshot_at(view)
    table, _ = decode.learned_in(run, view.seed_shown, depth_of(run, view), snapshot)
    return decode.memory(table)


def _prompt_error(method: str, run: Run, view: View) -> float:
    """Return a method's error on the prompt shown, after its last step."""
    problem, paths = iterates.solved(run, view, depth_of(run, view))
    return float(problem.losses(paths[method])[-1])


def _few_off(run: Run, view: View) -> float:
    """Return the error of a mean over as many prompts as the authors have."""
    noise = "reference/noise" + floor_of(run.config)[0].removeprefix("floor")
    return float(run[noise][-1])


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        "step": lambda run, view: run.step(view),
        "model_step": lambda run, view: step_of(run, depth_of(run, view), run.snapshot_at(view)),
        "so_far": lambda run, view: WORDS.text("so far", run, view),
        # log-losses of the deepest models: at the step shown, and in the end
        "log_loss": log_loss_shown,
        "trained": _ends("evaluated/loss"),
        "own_batch": _ends("evaluated/train"),
        "without_memory": _ends("beside/linear/loss"),
        "CGD": _ends("baseline/cg"),
        "floor": lambda run, view: _floor(run),
        # how errors compare, in words: at the step shown
        "beside_CGD": lambda run, view: compared(_over("baseline/cg", run, view)),
        "above_informed_CGD": lambda run, view: above(_over("baseline/pcg", run, view)),
        "above_floor": lambda run, view: above(log_loss_shown(run, view) - _floor(run)),
        # and in the end
        "trained_beside_CGD": lambda run, view: compared(_over_cg(run)),
        "informed_CGD_beside_trained": lambda run, view: compared(
            end(run, "baseline/pcg") - end(run, "evaluated/loss")
        ),
        "without_memory_beside_with": lambda run, view: compared(_without_over_with(run)),
        "prompt_error": partial(_prompt_error, "trained"),
        "prompt_error_of_CGD": partial(_prompt_error, "CGD"),
        # shares of a table's weight on older gradients
        "memory": _learned_memory,
        "informed_memory": lambda run, view: decode.memory(
            decode.references(run, depth_of(run, view))[decode.PRE]
        ),
        # how exact means over prompts are
        "prompts_watched": lambda run, view: test_set.WATCHED,
        "prompts_tested": lambda run, view: test_set.PROMPTS,
        "prompts_of_authors": lambda run, view: FEW,
        "standard_error": lambda run, view: float(mean_of(run["evaluated/error"])[-1]),
        "error_of_few": _few_off,
        # what a run is about
        "moving": lambda run, view: VARIANTS[run.config.variant].moves_covariates,
        "underdetermined": lambda run, view: run.config.n < run.config.d,
        "white_floor": lambda run, view: floor_of(run.config)[0] == "floor",
        # ahead of all fixed steps: not where it fits noise, nor where layers move the covariates
        "informed_CGD_wins": lambda run, view: (
            not run.config.noise and not VARIANTS[run.config.variant].moves_covariates
        ),
        "is_printed": lambda run, view: bool(printed_curves.fresh(run)),
        "rings": lambda run, view: WORDS.text("rings"),
        "least_squares": lambda run, view: WORDS.text("least squares"),
    },
    at={"ahead of CGD": _passes},
    right={"ahead": _ahead, "memory": _memory},
    done={"prompts": lambda view: view.prompt != 0},
    example=EXAMPLE,
)
