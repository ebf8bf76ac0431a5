"""From a run to the model that it holds, and what the model makes of one sequence."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch

from icl_core.contract.experiment import CannotDraw, Run
from icl_core.papers.birth.counting import model
from icl_core.papers.birth.counting.markov_chains import LETTERS, predictions, sample
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
