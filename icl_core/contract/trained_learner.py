"""A model that a paper trains, as a learner of linear regression beside those of other papers. No
torch.

A paper names in `Paper.learners` the module that ends in `LEARNERS = (TrainedLearner(...), …)`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Weights = Mapping[str, Any]  # torch tensors by name


@dataclass(frozen=True, kw_only=True)
class TrainedLearner:
    """How a model begins, and how it answers a prompt.

    id             its name in files, one of all papers
    name           its name for people
    short          its name in a legend
    kind, dash, symbol
                   its colour, a name in `figures.COLOURS` or a colour, its line and its mark
    about          what it is, in a sentence
    initial        takes d, n and a seed and returns its weights before training
    predict        takes weights, d, n, covariates x [pairs, d, prompts], labels y [pairs, prompts]
                   and queries [d, prompts]; returns its answers [prompts], by operations that
                   automatic differentiation follows. n is the length of prompts that it is trained
                   for
    width          takes d and n and returns the size of the vector that it holds for every token,
                   without the label where that is kept apart
    learning_rate  at which it is trained, with Adam and a rate that falls to zero
    weights        takes weights, d, n, x and y and returns ŵ [d, prompts] of a model that answers
                   by ⟨ŵ, query⟩; None for all others
    construction   what the model can be constructed to be: the id of a learner that needs no
                   training (`learners.learner_table`) and its number of steps; None where no
                   construction is known
    constructed_by the source of the construction
    """

    id: str
    name: str
    short: str
    kind: str
    dash: str
    symbol: str
    about: str
    initial: Callable[[int, int, int], Weights]
    predict: Callable[[Weights, int, int, Any, Any, Any], Any]
    width: Callable[[int, int], int]
    learning_rate: float
    weights: Callable[[Weights, int, int, Any, Any], Any] | None = None
    construction: tuple[str, int] | None = None
    constructed_by: str = ""
