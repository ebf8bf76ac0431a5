"""Which strategy the model is nearest to, and when that changes."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.figures import mean_of

NAMES = {"uniform": "uniform", "unigram": "unigrams", "bigram": "bigrams"}  # of ids, for visitors


def distances(run: Run, seed: int | None = None) -> np.ndarray:
    """Return the divergence from each strategy, of a seed or the mean over seeds, in nats,
    [strategies, evaluations]."""
    curves = [run[f"curve/kl_{name}"] for name in run.names("strategies")]
    return np.array([mean_of(curve) if seed is None else curve[seed] for curve in curves])


def nearest(run: Run, seed: int | None = None) -> list[str]:
    """Return the id of the nearest strategy at every evaluation that a run has reached."""
    ids = run.names("strategies")
    columns = distances(run, seed).T  # (evaluations, strategies)
    return [ids[int(column.argmin())] for column in columns if np.isfinite(column).all()]


def becomes(run: Run, strategy: str, seed: int | None = None) -> float | None:
    """Return the training step at which a strategy is first the nearest; None if it never is."""
    ids = nearest(run, seed)
    return float(run["curve/step"][ids.index(strategy)]) if strategy in ids else None


def spans(run: Run) -> list[tuple[str, float, float]]:
    """Return the stretches of the training with one nearest strategy: its id, the first step and
    the last."""
    steps = run["curve/step"]
    ids = nearest(run)
    stretches: list[tuple[str, float, float]] = []
    for index, id in enumerate(ids):
        end = float(steps[min(index + 1, len(ids) - 1)])
        if stretches and stretches[-1][0] == id:
            stretches[-1] = (id, stretches[-1][1], end)
        else:
            stretches.append((id, float(steps[index]), end))
    return stretches


def in_order(run: Run, seed: int) -> bool:
    """Return whether a seed's predictions are nearest to each strategy in turn, from the simplest
    to the best."""
    ids = nearest(run, seed)
    strategies = run.names("strategies")
    # the first evaluation at which each is the nearest, -1 if it never is
    first = [ids.index(id) if id in ids else -1 for id in strategies]
    return (
        first[0] == 0 and first == sorted(first) and min(first) >= 0 and ids[-1] == strategies[-1]
    )


def looks_back(run: Run, seed: int | None = None) -> float | None:
    """Return the training step at which layer 1 first puts half of its attention on the position
    before; None if it never does."""
    curve = mean_of(run["curve/previous"]) if seed is None else run["curve/previous"][seed]
    indices = np.flatnonzero(curve >= 0.5)
    return float(run["curve/step"][indices[0]]) if len(indices) else None


def milestones(run: Run) -> dict[str, float]:
    """Return the steps at which a better strategy becomes the nearest, by name, where one does."""
    steps = {NAMES[id]: becomes(run, id) for id in run.names("strategies")[1:]}
    return {name: step for name, step in steps.items() if step is not None}


def at_step(run: Run, name: str, step: float) -> float:
    """Return the mean over seeds of a curve at a training step."""
    return float(np.interp(step, run["curve/step"], mean_of(run[f"curve/{name}"])))


def share_of_gain(run: Run) -> np.ndarray:
    """Return how far each seed has come from counting single states to counting pairs, 0 to 1: its
    loss between theirs, [seeds]."""
    single, pairs = (
        float(run[f"baseline/loss_{name}_at"].mean()) for name in ("unigram", "bigram")
    )
    return (single - run["evaluated/loss"]) / (single - pairs)
