"""The models the paper compares the GD-SSM with (Section 4, Figures 4 C and 6): one file a model, one layer each.

Every model reads the same tokens (tasks, T, f) and answers at each of them with a vector (tasks, T, f); the prediction
is the answer at the last token. In 1-D the tokens are 2f wide and the prediction is one coordinate of the answer.

    tokens -> W_in -> hidden width -> u + layer(u) -> W_out -> answer

A model has a hidden `width` (the paper: 20) and a `state`, the size of what it carries from token to token:

    s5                   complex numbers, each standing for a conjugate pair
    mamba                numbers for each of the 2 width channels
    griffin              channels of the recurrence, and size of the local attention's head
    linear_transformer   size of keys and values; the state is a matrix of them
    softmax_transformer  the same, but the state is a cache that grows

Each file has `parameters` (random, with a leading axis of seeds), `forward` (all tokens at once, for training, of one
seed) and `recur` (token by token, the oracle). What is left out of all models is the normalisation, which would hide
the size of y, and the feed-forward layer between layers, which the paper leaves out.
A new model is its file and a line in the table below.
"""

from dataclasses import dataclass
from typing import Any

from icl_core.papers.gdssm.shared.sequence_models.initial import Generators, Parameters
from icl_core.papers.gdssm.shared.sequence_models.plain import (
    griffin,
    linear_transformer,
    mamba,
    s5,
    softmax_transformer,
)


@dataclass(frozen=True)
class Model:
    """A model of the comparison: its id in files, its label, its style, its layers. `module` is a baseline's file, None
    for the GD-SSM itself; `attends`: its `parameters` take its layers and the number of positions too."""

    id: str
    label: str
    colour: str
    dash: str
    symbol: str
    module: Any = None
    layers: int = 1
    attends: bool = False

    @property
    def baseline(self) -> bool:
        """Whether it is not the paper's own."""
        return self.module is not None

    @property
    def short(self) -> str:
        """The label within a sentence."""
        return self.label.replace("Linear transformer", "linear transformer").replace("Softmax", "softmax")

    def draw(self, features: int, width: int, state: int, generators: Generators, positions: int) -> Parameters:
        """Random parameters of that width and state, (seeds, ...) each."""
        more = (self.layers, positions) if self.attends else ()
        return self.module.parameters(features, width, state, generators, *more)


LINEAR, SOFTMAX = linear_transformer, softmax_transformer

MODELS = {
    model.id: model
    for model in (
        Model("gd-ssm-1", "GD-SSM, 1 layer", "trained", "solid", "circle"),
        Model("gd-ssm-2", "GD-SSM, 2 layers", "trained", "dash", "circle-open", layers=2),
        Model("s5", "S5", "layer 1", "solid", "square", s5),
        Model("mamba", "Mamba", "layer 2", "solid", "diamond", mamba),
        Model("griffin", "Griffin", "layer 3", "solid", "triangle-up", griffin),
        Model("linear-1", "Linear transformer, 1 layer", "layer 4", "solid", "x", LINEAR, 1, attends=True),
        Model("linear-2", "Linear transformer, 2 layers", "layer 4", "dash", "x-open", LINEAR, 2, attends=True),
        Model("softmax-1", "Softmax transformer, 1 layer", "layer 5", "solid", "star", SOFTMAX, 1, attends=True),
        Model("softmax-2", "Softmax transformer, 2 layers", "layer 5", "dash", "star-open", SOFTMAX, 2, attends=True),
    )
}


def model(id: str) -> Model:
    """The model of that id; one that the table does not know is called by its id and drawn plainly."""
    return MODELS.get(id, Model(id, id, "gradient descent", "solid", "circle"))
