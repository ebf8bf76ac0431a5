"""What is read from a run: the model that it holds, what the model makes of one sequence, and which
strategy it is nearest to, and when that changes."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch

from icl_core.contract.experiment import CannotDraw, Run
from icl_core.figures import mean_of
from icl_core.papers.birth.counting import model
from icl_core.papers.birth.counting.model import LETTERS, predictions, sample
from icl_core.papers.birth.counting.settings import LONGEST, Config, View

FROM = 4_012  # the seed of the first random sequence


@dataclass(frozen=True, eq=False)
class Reading:
    """A sequence on screen, both layers' attention on it [T, T] (or one's), and what is predicted
    after each position [T, k] by the model and by each strategy, by id."""

    tokens: list[int]
    attention: list[np.ndarray]
    model: np.ndarray
    strategies: dict[str, np.ndarray]

    @property
    def letters(self) -> list[str]:
        """Return the states as people see them."""
        return [LETTERS[token] for token in self.tokens]

    def at(self, view: View) -> int:
        """Return the index of the position that the view asks for; one beyond the sequence is its
        last."""
        return min(view.position, len(self.tokens)) - 1


def parameters_at(run: Run, snapshot: int) -> dict[str, torch.Tensor]:
    """Return the first seed's parameters at a snapshot, with an axis of one seed; the last ones
    exactly."""
    is_last = snapshot == len(run.snapshot_steps) - 1
    parameters = {}
    for name in model.names(run.config.layers):
        array = run[f"final/{name}"] if is_last else run.snapshot(name, snapshot)
        parameters[name] = torch.tensor(array)[None]
    return parameters


@lru_cache(maxsize=4)  # the drawings of the stage and their titles ask for the same
def read(run: Run, view: View) -> Reading:
    """Return what the model makes of the view's sequence at the step shown. Raises `CannotDraw` for
    a letter that is no state."""
    tokens = chosen(run.config, view)
    with torch.no_grad():
        logits, maps = model.forward(parameters_at(run, run.snapshot_at(view)), tokens[None])
    by_strategy = predictions(tokens, run.config.k)
    strategies = {name: by_strategy[name][0].numpy() for name in run.names("strategies")}
    return Reading(
        tokens[0].tolist(),
        [weights[0, 0].numpy() for weights in maps],  # (1, 1, T, T) to (T, T)
        logits[0, 0].softmax(-1).numpy(),
        strategies,
    )


def next_state(run: Run, view: View) -> dict[str, np.ndarray]:
    """Return what is predicted after the position shown, [k] each: by "model" what the model
    predicts, and by its id what each strategy does."""
    reading = read(run, view)
    at = reading.at(view)
    rows = {name: predicted[at] for name, predicted in reading.strategies.items()}
    return {"model": reading.model[at]} | rows


def likeliest(run: Run, view: View) -> int:
    """Return the state that bigrams take to be the likeliest there."""
    return int(next_state(run, view)["bigram"].argmax())


def stage_text(run: Run, view: View) -> str:
    """Return the sequence on stage while the visitor has typed none."""
    tokens = chosen(run.config, replace(view, sequence=""))[0].tolist()
    return "".join(LETTERS[token] for token in tokens)


def chosen(config: Config, view: View) -> torch.Tensor:
    """Return the states that the visitor typed, or a random sequence, [1, T]. Raises `CannotDraw`
    for a letter that is no state."""
    if not view.sequence:
        generator = torch.Generator().manual_seed(FROM + view.sample)
        return sample(1, min(LONGEST, config.T), config.k, config.chains, generator)
    states = LETTERS[: config.k]
    letters = view.sequence.upper()
    unknown = [letter for letter in letters if letter not in states]
    if unknown:
        raise CannotDraw(f"the sequence must be made of the states {states}, got {unknown[0]!r}")
    return torch.tensor([[states.index(letter) for letter in letters[: config.T]]])


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
