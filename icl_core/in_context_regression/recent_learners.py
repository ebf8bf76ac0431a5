"""The rules of recent recurrent layers as learners (`untrained`), and their settings.

Rules with one number are tuned as all others are (`learner_table.tune`). Where there are several,
or one a channel, they begin at the tuned settings of a simpler rule, with which they do the same,
and follow the gradient of the mean error.
"""

from collections.abc import Callable, Mapping

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


def tune_recent(
    learner: Learner,
    tuned: Mapping[str, Settings],
    prompts: Prompts,
    home: Home,
    steps: int,
    reach: int,
) -> Settings:
    """Return the settings of a recent learner with the least mean error on prompts of home; `tuned`
    are those of the others by id, and `reach` is c."""
    fixed = {"reach": float(reach)} if learner.id in REACHING else {}
    if learner.box:
        return tune(learner, prompts, home, steps, fixed)
    start = _start(learner.id, tuned, home.d, reach)

    def loss(settings: Settings) -> Tensor:
        return mean_error(learner, prompts, {**fixed, **settings}, home, steps)

    return {**fixed, **follow(loss, start)}


def _start(id: str, tuned: Mapping[str, Settings], d: int, reach: int) -> dict[str, Tensor]:
    """Return where the search for several settings begins, each a tensor."""
    rates = {name: torch.as_tensor(tuned[name]["rate"]).double() for name in ("delta", "unit")}
    near_one = torch.tensor(0.995, dtype=torch.float64)
    if id == "kda":
        return {"rate": rates["unit"], "decays": near_one.expand(d)}
    if id == "rwkv7":
        one = torch.ones((), dtype=torch.float64)
        return {"rates": rates["unit"].expand(d), "decays": near_one.expand(d), "gain": one}
    if id == "omega":
        return {"rate": rates["delta"] / reach, "decay": near_one}
    beta = torch.tensor(0.1, dtype=torch.float64)
    return {"rate": (1 - beta) * rates["delta"], "beta": beta, "decay": near_one}


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
