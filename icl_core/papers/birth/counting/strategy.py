"""Which strategy the model is nearest to, and when that changes."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.figures import mean_of

NAMES = {"uniform": "uniform", "unigram": "unigrams", "bigram": "bigrams"}  # ids as people are told


def distances(run: Run, seed: int | None = None) -> np.ndarray:
    """The divergence from each strategy, of a seed or the mean over seeds, [strategies,
    evaluations]."""
    curves = [run[f"curve/kl_{name}"] for name in run.names("strategies")]
    return np.array([mean_of(curve) if seed is None else curve[seed] for curve in curves])


def nearest(run: Run, seed: int | None = None) -> list[str]:
    """The id of the nearest strategy at every evaluation that a run has reached."""
    found, ids = distances(run, seed), run.names("strategies")
    return [ids[int(column.argmin())] for column in found.T if np.isfinite(column).all()]


def becomes(run: Run, strategy: str, seed: int | None = None) -> float | None:
    """The training step at which a strategy is first the nearest; None if it never is."""
    at = [index for index, name in enumerate(nearest(run, seed)) if name == strategy]
    return float(run["curve/step"][at[0]]) if at else None


def spans(run: Run) -> list[tuple[str, float, float]]:
    """The stretches of the training with one nearest strategy: its id, the first step
    and the last."""
    steps, names, found = run["curve/step"], nearest(run), []
    for index, name in enumerate(names):
        end = float(steps[min(index + 1, len(names) - 1)])
        if found and found[-1][0] == name:
            found[-1] = (name, found[-1][1], end)
        else:
            found.append((name, float(steps[index]), end))
    return found


def in_order(run: Run, seed: int) -> bool:
    """Whether a seed's predictions are nearest to each strategy in turn, from the simplest to the
    best."""
    names = nearest(run, seed)
    first = [names.index(name) if name in names else -1 for name in run.names("strategies")]
    return (
        first[0] == 0
        and first == sorted(first)
        and min(first) >= 0
        and names[-1] == run.names("strategies")[-1]
    )


def looks_back(run: Run, seed: int | None = None) -> float | None:
    """The training step at which layer 1 first puts half of its attention on the
    position before."""
    curve = mean_of(run["curve/previous"]) if seed is None else run["curve/previous"][seed]
    passed = np.flatnonzero(curve >= 0.5)
    return float(run["curve/step"][passed[0]]) if len(passed) else None


def milestones(run: Run) -> dict[str, float]:
    """The steps at which a better strategy becomes the nearest."""
    found = {NAMES[name]: becomes(run, name) for name in run.names("strategies")[1:]}
    return {name: step for name, step in found.items() if step is not None}


def at_step(run: Run, name: str, step: float) -> float:
    """The mean over seeds of a curve at a training step."""
    return float(np.interp(step, run["curve/step"], mean_of(run[f"curve/{name}"])))


def share_of_gain(run: Run) -> np.ndarray:
    """How far each seed has come from counting single states to counting pairs: its loss between
    theirs, [seeds]."""
    single, pairs = (
        float(run[f"baseline/loss_{name}_at"].mean()) for name in ("unigram", "bigram")
    )
    return (single - run["evaluated/loss"]) / (single - pairs)
