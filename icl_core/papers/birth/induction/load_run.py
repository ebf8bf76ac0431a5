"""What is read from a run: the model that it holds, and what to call it; and what the curves of its
training say: how many predictions are right, when the memories form, which comes first, and what
freezing does."""

from functools import partial

import numpy as np
import torch

from icl_core.contract.experiment import Run
from icl_core.figures import mean_of
from icl_core.papers.birth.induction.settings import Config, View
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.train import FROZEN


def origin(run: Run) -> str:
    """Return where the matrices of a run come from: "trained" here, or "given" by a visitor."""
    return "trained" if run.config.trains else "given"


def step_shown(run: Run, view: View) -> float:
    """Return the training step shown, NaN of a run in training that has no snapshots yet."""
    return run.step(view) if run.snapshot_steps else np.nan


def at_step(run: Run, view: View) -> str:
    """Return the beginning of a title: which of a run's models is shown."""
    return f"Step {run.step(view)}" if run.config.trains else "As given"


def weights_at(run: Run, snapshot: int) -> Weights:
    """Return the weights at a snapshot, float32 on the CPU: the last one's exactly, earlier ones'
    with the rounding of `compact`."""
    is_last = snapshot == len(run.snapshot_steps) - 1
    arrays = {}
    for tensor in run.tensors:
        if tensor.startswith("final/"):
            name = tensor.removeprefix("final/")
            arrays[name] = run[tensor] if is_last else run.snapshot(name, snapshot)
    # one layer has no W_K1, and never reads it
    arrays.setdefault("W_K1", np.zeros_like(arrays["W_K2"]))
    for name in FROZEN:
        arrays[name] = run[f"frozen/{name}"]
    # torch.tensor copies: memory-mapped arrays are read-only
    return Weights(**{name: torch.tensor(array) for name, array in arrays.items()})


MEMORIES = {"W_O2": "W_O²", "W_K2": "W_K²", "W_K1_early": "W_K¹ early"}
# the probes that are compared with W_O2's: the first of them to be learned comes after it
FIRST_OF = ("W_K1_early", "W_K2")
FIRST_BY_FREQUENCY = ("W_K1_early", "W_K2_weighted")
WINDOW = 5  # evaluations in a running mean


def accuracy_at(run: Run, step: float, name: str = "accuracy") -> float:
    """Return the mean over seeds of an accuracy at a training step, interpolated linearly between
    two evaluations."""
    return float(np.interp(step, run["curve/step"], mean_of(run[f"curve/{name}"])))


def other_law(outputs: str) -> str:
    """Return the law of outputs that is not trained on."""
    return "bigram" if outputs == "uniform" else "uniform"


def freezes(config: Config) -> bool:
    """Return whether a matrix is frozen at the beginning of the training."""
    frozen = config.freeze_W_K1 or config.freeze_W_K2 or config.freeze_W_O2
    return bool(config.freeze_until) and frozen


def milestones(run: Run) -> dict[str, float]:
    """Return the training step at which each memory's recall, the mean over seeds, first is one
    half, if it ever is; and as "thaw" the step at which what was frozen is let go."""
    if not run.config.trains:
        return {}
    steps = {
        MEMORIES[name]: half_step(run, mean_of(run[f"curve/recall_{name}"]))
        for name in run.names("probes")
        if name in MEMORIES
    }
    if freezes(run.config):
        steps["thaw"] = float(run.config.freeze_until)
    return {name: step for name, step in steps.items() if np.isfinite(step)}


def half_step(run: Run, curve: np.ndarray, never: float = np.nan) -> float:
    """Return the training step at which a curve [evaluations] first passes one half, or `never`."""
    above = np.flatnonzero(curve >= 0.5)  # indices of evaluations
    return float(run["curve/step"][above[0]]) if len(above) else never


def half_way(run: Run, name: str) -> np.ndarray:
    """Return the training step at which each seed's loss has gone half of the way from its first
    value to its least, [seeds]."""
    indices = []
    for loss in run[f"curve/{name}"]:
        half = (loss[0] + loss.min()) / 2
        indices.append(np.flatnonzero(loss <= half)[0])
    return run["curve/step"][indices].astype(float)


def over_training(run: Run, name: str) -> np.ndarray:
    """Return the mean of each seed's curve over the training, [seeds]."""
    steps = run["curve/step"]
    return np.trapezoid(run[f"curve/{name}"], steps, axis=1) / (steps[-1] - steps[0])


def top_down(run: Run, others_by: tuple[str, ...] = FIRST_OF) -> np.ndarray:
    """Return the steps from the one at which W_O2 recalls half of its pairs to the earliest at
    which one of the probes `others_by` does, [seeds].

    A half that is never reached counts as reached at the training's end.
    """
    half = partial(half_step, run, never=run.config.steps)
    differences = []
    for seed, output in enumerate(run["curve/recall_W_O2"]):
        others = [half(run[f"curve/recall_{name}"][seed]) for name in others_by]
        differences.append(min(others) - half(output))
    return np.array(differences)


def at_the_thaw(run: Run, second: str, first: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the recall `second` of W_K2 in the training where W_K1 was frozen, and the recall
    `first` of W_K1 in the one where W_K2 was, [seeds] each.

    One of the trainings is this run's, the other its opposite. Both recalls are those at the last
    step before the thaw at which both trainings were evaluated.
    """
    W_K1_frozen = "curve" if run.config.freeze_W_K1 else "opposite"
    W_K2_frozen = "opposite" if run.config.freeze_W_K1 else "curve"
    step = max(set(run["curve/step"].tolist()) & set(run["opposite/step"].tolist()))
    return (
        at_last_step(run, f"recall_{second}", step, W_K1_frozen),
        at_last_step(run, f"recall_{first}", step, W_K2_frozen),
    )


def before_thaw(run: Run) -> int:
    """Return the index of the last evaluation before the thaw."""
    return int(np.searchsorted(run["curve/step"], run.config.freeze_until, side="right")) - 1


def at_last_step(run: Run, name: str, step: float, kind: str = "curve") -> np.ndarray:
    """Return a curve at its last evaluation up to a training step, [seeds]; `kind` is "curve", or
    "opposite" for the opposite freezing."""
    index = int(np.searchsorted(run[f"{kind}/step"], step, side="right")) - 1
    return run[f"{kind}/{name}"][:, index]


def gained(run: Run, step: float) -> np.ndarray:
    """Return the recall that W_K1 (early positions) and W_K2 have gained by a step, the mean of the
    two, [seeds]."""
    gains = [
        at_last_step(run, f"recall_{name}", step) - run[f"curve/recall_{name}"][:, 0]
        for name in ("W_K1_early", "W_K2")
    ]
    return np.mean(gains, axis=0)


def given_back(curves: np.ndarray) -> tuple[np.ndarray, float | None]:
    """Return how much curves [seeds, evaluations] fall from their highest point to their end,
    [seeds], and a standard error, None for several seeds.

    Both points are means over WINDOW evaluations. The place of a seed's highest point is that of
    the other seeds' mean, as the highest point of a noisy curve is noise. A single seed's is its
    own; its standard error comes from its evaluations about their running mean.
    """
    window = np.ones(WINDOW) / WINDOW
    # (seeds, evaluations - WINDOW + 1)
    smooth = np.stack([np.convolve(curve, window, "valid") for curve in curves])
    if len(curves) == 1:
        residuals = curves[0, WINDOW // 2 : -(WINDOW // 2)] - smooth[0]
        return smooth.max(1) - smooth[:, -1], float(np.std(residuals) * (2 / WINDOW) ** 0.5)
    falls = []
    for seed, curve in enumerate(smooth):
        others = np.delete(smooth, seed, axis=0).mean(axis=0)  # (evaluations - WINDOW + 1,)
        highest = int(others.argmax())
        falls.append(curve[highest] - curve[-1])
    return np.array(falls), None
