"""The GD-SSM and the models beside it as learners of linear regression, beside other papers'.

They read tokens x, y, x, y, …, x of d numbers, with y as [y, 0, …, 0]; what they answer at the last
token has the label first. Other models are built as their authors build them, with a bias in the
read-in.
"""

from functools import cache, partial

import torch
from torch import Tensor

from icl_core.contract.trained_learner import TrainedLearner, Weights
from icl_core.papers.gdssm.shared.sequence_models import MODELS, Model, all_models
from icl_core.papers.gdssm.shared.sequence_models.settings import Setting
from icl_core.papers.gdssm.shared.task import Tasks

ABOUT = {
    "gd-ssm-1": "A window of three tokens is multiplied with itself and added to a state.",
    "gd-ssm-2": "Two such layers, the second with the curvature ∑ x xᵀ.",
    "s5": "A linear recurrence with fixed decays, and a gate behind it.",
    "mamba": "A recurrence whose decays and inputs depend on the token.",
    "griffin": "Two blocks with a gated recurrence, one with attention to the latest tokens.",
    "gated-delta": "A state that corrects what it holds under a key, and forgets by a gate.",
    "linear-1": "One layer of attention without a softmax, with norms and a feed-forward layer.",
    "linear-2": "Two such layers.",
    "softmax-1": "One layer of attention with a softmax, with norms and a feed-forward layer.",
    "softmax-2": "Two such layers.",
}
SHORT = {
    "gd-ssm-1": "GD-SSM",
    "gd-ssm-2": "GD-SSM 2",
    "gated-delta": "gated delta",
    "linear-1": "linear 1",
    "linear-2": "linear 2",
    "softmax-1": "softmax 1",
    "softmax-2": "softmax 2",
}
LINEAR = "von Oswald et al. 2023 (arXiv 2212.07677), its attention without norms"
# The learner that needs no training and its steps, and where the construction is from. The gated
# delta network has none: its rate is a gate that is a logistic function of the token, its keys have
# length 1, and it normalises what it reads.
CONSTRUCTIONS = {
    "gd-ssm-1": (("sum", 1), "GD-SSM, Section 3.2"),
    "gd-ssm-2": (("gd", 2), "GD-SSM, Section 3.3"),
    "linear-1": (("sum", 1), LINEAR),
    "linear-2": (("gd", 2), LINEAR),
}
RATES = {"gd-ssm-1": 0.02, "gd-ssm-2": 0.02}
OTHERS_RATE = 3e-3  # at which none of the other models has diverged


@cache
def _built(id: str, d: int, n: int) -> all_models.Learner:
    """Return a model for prompts of a size."""
    setting = Setting(model="N-D", f=d, N=n, bias=True)
    return next(built for built in all_models.learners(setting) if built.model.id == id)


def initial(d: int, n: int, seed: int, id: str) -> Weights:
    """Return the weights of one seed before training, [1, …] each."""
    return _built(id, d, n).initial([seed])


def width(d: int, n: int, id: str) -> int:
    """Return how many numbers a model holds for every token: the GD-SSM reads tokens as they are,
    others make hidden vectors of 2d + n + 1."""
    if not MODELS[id].baseline:
        return d
    return Setting(model="N-D", f=d, N=n, bias=True).hidden


def predict(
    weights: Weights, d: int, n: int, x: Tensor, y: Tensor, query: Tensor, id: str
) -> Tensor:
    """Return the first entry of the answer at the query."""
    labels = torch.zeros_like(x)
    labels[:, 0] = y
    tasks = Tasks(torch.cat([x, query[None]]), torch.cat([labels, torch.zeros_like(query)[None]]))
    return _built(id, d, n).predict(dict(weights), tasks)[0, 0]


def _learner(model: Model) -> TrainedLearner:
    construction, source = CONSTRUCTIONS.get(model.id, (None, ""))
    return TrainedLearner(
        id=model.id,
        name=model.label,
        short=SHORT.get(model.id, model.label),
        kind=model.colour,
        dash=model.dash,
        symbol=model.symbol,
        about=ABOUT[model.id],
        initial=partial(initial, id=model.id),
        predict=partial(predict, id=model.id),
        width=partial(width, id=model.id),
        learning_rate=RATES.get(model.id, OTHERS_RATE),
        construction=construction,
        constructed_by=source,
    )


LEARNERS = tuple(_learner(model) for model in MODELS.values())
