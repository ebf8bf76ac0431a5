"""The numbers in words.md, and which answers are right."""

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
from icl_core.papers.memformers.shared.draw.losses import floor_of
from icl_core.papers.memformers.shared.load_run import (
    depth_of,
    end,
    log_of,
    step_of,
)
from icl_core.papers.memformers.shared.variants import VARIANTS
from icl_core.papers.memformers.shared.words import EXAMPLE, above, compared

ALIKE = 0.1  # the logarithm of a ratio of errors: within 10% they count as equal
CLOSE = 0.1  # log-losses that differ by less count as equal
PROMPTS_OF_AUTHORS = 1000  # that they evaluate on


def log_loss_shown(run: Run, view: View) -> float:
    """Return the deepest model's log-loss on fresh prompts at the step shown, the mean over
    seeds."""
    if run.snapshot_at(view) == len(run.snapshot_steps) - 1:
        return end(run, "evaluated/loss")
    return float(np.interp(run.step(view), run["curve/step"], mean_of(log_of(run["curve/loss"]))))


def headline(run: Run, view: View) -> str:
    """Return what you see: that the deepest model's layers are steps, and its error at the step
    shown, beside its floor; before training beside conjugate gradient's."""
    name = "headline"
    if run.config.n < run.config.d:
        name = "headline underdetermined"
    elif not run.step(view):  # what can be reached is asked before it is shown
        name = "headline before training"
    elif VARIANTS[run.config.variant].moves_covariates:
        name = "headline moving covariates"
    elif decode.applies(run.config):
        name = "headline read off"
    return WORDS.text(name, run, view)


def floor(run: Run) -> float:
    """Return the floor of the deepest model's log-loss."""
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
        "floor": lambda run, view: floor(run),
        # how errors compare, in words: at the step shown
        "beside_CGD": lambda run, view: compared(_over("baseline/cg", run, view)),
        "above_informed_CGD": lambda run, view: above(_over("baseline/pcg", run, view)),
        "above_floor": lambda run, view: above(log_loss_shown(run, view) - floor(run)),
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
        "prompts_of_authors": lambda run, view: PROMPTS_OF_AUTHORS,
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
