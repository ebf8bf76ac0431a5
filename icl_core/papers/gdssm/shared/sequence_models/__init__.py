"""The models the paper compares the GD-SSM with (Section 4, Figures 4 C and 6), and three more, in
two forms: the softmax transformer with one layer and with two, and the gated delta network.

Every model reads the same tokens (tasks, T, f) and answers at each of them with a vector (tasks, T,
f); the prediction is the answer at the last token. In 1-D the tokens are 2f wide and the prediction
is one coordinate of the answer.

    tokens -> W_in -> hidden width -> u + layer(u) -> W_out -> answer

A model has a hidden `width` and a `state`, the size of what it carries from token to token:

    s5                   complex numbers, each standing for a conjugate pair
    mamba                numbers for each of the 2 width channels
    griffin              channels of the recurrence (in the plain form also the size of the local
                         attention's head)
    gated_delta          size of a head's keys; the state is a matrix of keys and values
    linear_transformer   the same
    softmax_transformer  the same, but the state is a cache that grows

`authors` holds them as their authors build them. `plain` holds what is left without norms,
feed-forward layers and heads: one layer of each but Griffin, which has one block of each of its two
kinds; all made equal in their numbers of parameters by their states.
Each file has `parameters` (random, with a leading axis of seeds), `forward` (all tokens at once,
for training, of one seed) and `recur` (token by token, the oracle). A new model is its files and a
line in the table below.
"""

from dataclasses import dataclass
from typing import Any

from icl_core.figures.style import colour
from icl_core.papers.gdssm.shared.sequence_models.authors import (
    gated_delta,
    griffin,
    linear_transformer,
    mamba,
    s5,
    softmax_transformer,
)
from icl_core.papers.gdssm.shared.sequence_models.plain import gated_delta as plain_gated_delta
from icl_core.papers.gdssm.shared.sequence_models.plain import griffin as plain_griffin
from icl_core.papers.gdssm.shared.sequence_models.plain import linear_transformer as plain_linear
from icl_core.papers.gdssm.shared.sequence_models.plain import mamba as plain_mamba
from icl_core.papers.gdssm.shared.sequence_models.plain import s5 as plain_s5
from icl_core.papers.gdssm.shared.sequence_models.plain import softmax_transformer as plain_softmax
from icl_core.papers.gdssm.shared.weights import Generators, Parameters


@dataclass(frozen=True)
class Model:
    """A model of the comparison: its id in files, its label, its style, its layers. `authors` and
    `plain` are a baseline's files, None for the GD-SSM itself; `attends`: its plain `parameters`
    take its layers and the number of positions too."""

    id: str
    label: str
    colour: str
    dash: str
    symbol: str
    authors: Any = None
    plain: Any = None
    layers: int = 1
    attends: bool = False

    @property
    def baseline(self) -> bool:
        """Whether it is not the paper's own."""
        return self.authors is not None

    @property
    def short(self) -> str:
        """The label within a sentence."""
        named = ("Linear", "Softmax", "Gated")
        return (
            self.label[0].lower() + self.label[1:] if self.label.startswith(named) else self.label
        )

    def marker(self, size: int, **more: Any) -> dict[str, Any]:
        """Return its dot, wherever the model is drawn."""
        shade = colour(self.colour)
        line = {"width": 2, "color": shade}
        return {"size": size, "color": shade, "symbol": self.symbol, "line": line} | more

    def draw(
        self, features: int, width: int, state: int, generators: Generators, positions: int
    ) -> Parameters:
        """Draw random parameters of the plain form, of that width and state, (seeds, ...) each."""
        more = (self.layers, positions) if self.attends else ()
        return self.plain.parameters(features, width, state, generators, *more)


LINEAR = (linear_transformer, plain_linear)
SOFTMAX = (softmax_transformer, plain_softmax)

MODELS = {
    model.id: model
    for model in (
        Model("gd-ssm-1", "GD-SSM, 1 layer", "trained", "solid", "circle"),
        Model("gd-ssm-2", "GD-SSM, 2 layers", "trained", "dash", "circle-open", layers=2),
        Model("s5", "S5", "layer 1", "dashdot", "square", s5, plain_s5),
        Model("mamba", "Mamba", "layer 2", "solid", "diamond", mamba, plain_mamba),
        Model("griffin", "Griffin", "layer 3", "solid", "triangle-up", griffin, plain_griffin),
        Model(
            "gated-delta",
            "Gated delta network",
            "layer 6",
            "solid",
            "hexagon",
            gated_delta,
            plain_gated_delta,
        ),
        Model(
            "linear-1",
            "Linear transformer, 1 layer",
            "layer 4",
            "solid",
            "x",
            *LINEAR,
            1,
            attends=True,
        ),
        Model(
            "linear-2",
            "Linear transformer, 2 layers",
            "layer 4",
            "dash",
            "x-open",
            *LINEAR,
            2,
            attends=True,
        ),
        Model(
            "softmax-1",
            "Softmax transformer, 1 layer",
            "layer 5",
            "solid",
            "star",
            *SOFTMAX,
            1,
            attends=True,
        ),
        Model(
            "softmax-2",
            "Softmax transformer, 2 layers",
            "layer 5",
            "dash",
            "star-open",
            *SOFTMAX,
            2,
            attends=True,
        ),
    )
}


def model(id: str) -> Model:
    """Return the model of that id; one that the table does not know is called by its id and drawn
    plainly."""
    return MODELS.get(id, Model(id, id, "gradient descent", "solid", "circle"))
