"""What the curves of a training tell: when its memories form, what a freezing lets form, what is
lost again."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Run

FIRST_OF = ("W_K1_early", "W_K2")  # whichever of them is learned first comes after W_O2
FIRST_BY_FREQUENCY = ("W_K1_early", "W_K2_weighted")
WINDOW = 5  # evaluations


def half_step(run: Run, curve: np.ndarray, never: float = np.nan) -> float:
    """Return the training step at which a curve [evaluations] first passes one half, or `never`."""
    passed = np.flatnonzero(curve >= 0.5)
    return float(run["curve/step"][passed[0]]) if len(passed) else never


def half_way(run: Run, name: str) -> np.ndarray:
    """Return the step at which each seed's loss has gone half of the way from its first value to
    its least, [seeds]."""
    halves = [
        np.flatnonzero(loss <= (loss[0] + loss.min()) / 2)[0] for loss in run[f"curve/{name}"]
    ]
    return run["curve/step"][halves].astype(float)


def over_training(run: Run, name: str) -> np.ndarray:
    """Return the mean of each seed's curve over the training, [seeds]."""
    step = run["curve/step"]
    return np.trapezoid(run[f"curve/{name}"], step, axis=1) / (step[-1] - step[0])


def top_down(run: Run, others_by: tuple[str, ...] = FIRST_OF) -> np.ndarray:
    """Return the steps from W_O2's half to the earliest half of the other probes, [seeds]; one that
    is never reached counts as the training's end."""
    reached = partial(half_step, run, never=run.config.steps)
    output, *others = (run[f"curve/recall_{name}"] for name in ("W_O2", *others_by))
    rows = zip(output, *others, strict=True)
    return np.array([min(map(reached, later)) - reached(first) for first, *later in rows])


def at_the_thaw(run: Run, second: str, first: str) -> tuple[np.ndarray, np.ndarray]:
    """At the last step before the thaw at which both were evaluated, [seeds] each: the recall
    `second` of W_K2 where W_K1 was frozen, and the recall `first` of W_K1 where W_K2 was. One is
    this run's, the other its opposite's."""
    kinds = ("curve", "opposite") if run.config.freeze_W_K1 else ("opposite", "curve")
    step = max(set(run["curve/step"].tolist()) & set(run["opposite/step"].tolist()))
    pairs = zip(kinds, (second, first), strict=True)
    found = [
        run[f"{kind}/recall_{name}"][:, list(run[f"{kind}/step"]).index(step)]
        for kind, name in pairs
    ]
    return found[0], found[1]


def before_thaw(run: Run) -> int:
    """Return the index of the last evaluation before the thaw."""
    return int(np.searchsorted(run["curve/step"], run.config.freeze_until, side="right")) - 1


def at_last_step(run: Run, name: str, step: float, kind: str = "curve") -> np.ndarray:
    """Return a curve at its last evaluation up to a training step, [seeds]."""
    at = int(np.searchsorted(run[f"{kind}/step"], step, side="right")) - 1
    return run[f"{kind}/{name}"][:, at]


def gained(run: Run, step: float) -> np.ndarray:
    """Return the recall that W_K1 (early positions) and W_K2 have gained by a step, the mean of the
    two, [seeds]."""
    return np.mean(
        [
            at_last_step(run, f"recall_{name}", step) - run[f"curve/recall_{name}"][:, 0]
            for name in ("W_K1_early", "W_K2")
        ],
        axis=0,
    )


def given_back(curves: np.ndarray) -> tuple[np.ndarray, float | None]:
    """Return how much curves [seeds, evaluations] fall from their highest to their end, [seeds].

    Both are means over WINDOW evaluations; the highest is looked for in the other seeds, as the
    highest of a noisy curve is noise. Of a single seed it is its own, and the second result is its
    standard error, from its evaluations about their running mean.
    """
    even = np.stack([np.convolve(curve, np.ones(WINDOW) / WINDOW, "valid") for curve in curves])
    if len(curves) == 1:
        about = curves[0, WINDOW // 2 : -(WINDOW // 2)] - even[0]
        return even.max(1) - even[:, -1], float(np.std(about) * (2 / WINDOW) ** 0.5)
    highest = [
        int(np.delete(even, seed, axis=0).mean(axis=0).argmax()) for seed in range(len(even))
    ]
    lost = np.array([row[at] - row[-1] for row, at in zip(even, highest, strict=True)])
    return lost, None
