"""The rules of recent recurrent layers as learners (`untrained`), and their settings.

Rules with one number are tuned as all others are (`learner_table.tune`). Where there are several,
or one a channel, the search follows the gradient of the mean error.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from icl_core.in_context_regression.home import Home, Prompts
from icl_core.in_context_regression.learner_table import BY_ID, RATE, RIDGE, mean_error, tune
from icl_core.in_context_regression.recent_rules import RECENT as RULES
from icl_core.in_context_regression.untrained import STATES, Learner, Settings

SHORT = {
    "kda": "KDA",
    "rwkv7": "RWKV-7",
    "product": "DeltaProduct",
    "titans": "Titans",
    "ttt": "TTT",
    "omega": "Omega",
    "mesa": "Mesa",
}
BOXES = {"product": RATE, "ttt": RATE, "mesa": RIDGE}  # of those with one setting
REACHING = ("product", "ttt", "omega")  # which look back at the last c pairs
WITH_UNIT_KEYS = ("unit", "gated", "kda", "rwkv7", "product")
OF_CHANNELS = ("rates", "decays")  # settings that every channel has of its own
FIRST = {"rate": 0.9, "rates": 0.9, "decay": 0.97, "decays": 0.97, "beta": 0.1, "gain": 1.0}
ITERATIONS = 40  # of the search by gradient


def _learner(id: str) -> Learner:
    rule = RULES[id]
    box = (BOXES[id],) if id in BOXES else ()
    return Learner(
        id,
        f"{rule.name} ({rule.models.partition(' (')[0]})",
        SHORT[id],
        STATES,
        rule.equation,
        ("ridge",) if id == "mesa" else rule.settings,  # nothing drifts: Mesa's γ is 1
        box,
        (True,) * len(box),
        rule=id,
        by_query=id == "mesa",
    )


RECENT = {id: _learner(id) for id in RULES}
EVERY = {**BY_ID, **RECENT}


Change = Callable[[Tensor], Tensor]
# A setting is searched as a number without bounds: what takes the setting to it, and back.
_BY_FACTORS: tuple[Change, Change] = (lambda value: value.log(), lambda free: free.exp())
_AT_MOST_ONE: tuple[Change, Change] = (lambda value: (1 - value).sqrt(), lambda free: 1 - free**2)
_UP_TO_ONE: tuple[Change, Change] = (lambda value: value.logit(), lambda free: free.sigmoid())
FREE = {
    **dict.fromkeys(("rate", "rates", "gain"), _BY_FACTORS),
    **dict.fromkeys(("decay", "decays"), _AT_MOST_ONE),
    "beta": _UP_TO_ONE,
}


def tune_recent(learner: Learner, prompts: Prompts, home: Home, steps: int, reach: int) -> Settings:
    """Return the settings of a recent learner with the least mean error on prompts of home; `reach`
    is c."""
    fixed = {"reach": float(reach)} if learner.id in REACHING else {}
    if learner.box:
        return tune(learner, prompts, home, steps, fixed)

    def loss(settings: Settings) -> Tensor:
        return mean_error(learner, prompts, {**fixed, **settings}, home, steps)

    square = float(home.eigenvalues().sum())
    return {**fixed, **follow(loss, beginning(learner.rule, learner.settings, home.d, square))}


def beginning(rule_id: str, searched: Sequence[str], d: int, square: float) -> dict[str, Tensor]:
    """Return the settings at which a search begins; `square` is the mean of |x|²."""
    start = {
        name: torch.full((d,) if name in OF_CHANNELS else (), FIRST[name], dtype=torch.float64)
        for name in searched
    }
    if "rate" in start and rule_id not in WITH_UNIT_KEYS:
        start["rate"] = start["rate"] / square
    return start


def follow(
    loss: Callable[[Settings], Tensor], start: Mapping[str, Tensor]
) -> dict[str, float | Tensor]:
    """Return the settings with the least loss on the way of L-BFGS from `start`, on the logarithm
    of the loss."""
    free = {name: FREE[name][0](value).clone().requires_grad_() for name, value in start.items()}
    search = torch.optim.LBFGS(
        list(free.values()),
        max_iter=ITERATIONS,
        tolerance_grad=1e-9,
        tolerance_change=1e-12,
        line_search_fn="strong_wolfe",
    )
    best = float("inf")
    kept: dict[str, Tensor] = {}

    def closure() -> Tensor:
        nonlocal best, kept
        search.zero_grad()
        settings = {name: FREE[name][1](value) for name, value in free.items()}
        value = loss(settings).log()
        value.backward()
        if float(value.detach()) < best:
            best = float(value.detach())
            kept = {name: setting.detach().clone() for name, setting in settings.items()}
        return value

    search.step(closure)
    return {name: value if value.ndim else float(value) for name, value in kept.items()}
