"""What recent rules lose where W drifts, all of it or only the columns of the first half of the
features, each with the settings that are best for the drift.

After every pair column i of W keeps the share c_i = √(1 − ρ_i²) of itself. With a row
ŵ = ∑ y_t v_t, as every rule has it, E |ŵ|² = ∑ v_sᵀv_t ∑_i c_i^|s − t| x_si x_ti and
E ŵᵀw = ∑_t ∑_i c_i^(N − t) x_ti v_ti, with t from 0, where w is that of the query, give the loss at
the best gain as in `expected`. Settings follow the gradient of this loss over some prompts
(`follow`), and the loss is a mean over others.
"""

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.contract.experiment import Tensors, names
from icl_core.in_context_regression import rules
from icl_core.in_context_regression.recent_learners import beginning, follow
from icl_core.in_context_regression.recent_rules import RECENT
from icl_core.in_context_regression.rules import KALMAN, RULES, Rule, Settings
from icl_core.papers.gdssm.states import expected

DRIFTS = (0.0, 0.1, 0.3, 0.5, 0.8)
TUNED_ON = 128  # prompts
REACH = 4.0  # chunk of TTT, window of Omega, steps of DeltaProduct
# rule, what is searched, and what is given
VARIANTS: dict[str, tuple[Rule, tuple[str, ...], dict[str, float]]] = {
    "unit": (RULES["unit"], ("rate",), {}),
    "gated": (RULES["gated"], ("rate", "decay"), {}),
    "kda": (RECENT["kda"], ("rate", "decays"), {}),
    "rwkv7": (RECENT["rwkv7"], ("rates", "decays"), {"gain": 1.0}),
    "product": (RECENT["product"], ("rate",), {"reach": REACH}),
    "delta": (RULES["delta"], ("rate",), {}),
    "decay": (RECENT["titans"], ("rate", "decay"), {"beta": 0.0}),
    "momentum": (RECENT["titans"], ("rate", "beta"), {"decay": 1.0}),
    "titans": (RECENT["titans"], ("rate", "beta", "decay"), {}),
    "ttt": (RECENT["ttt"], ("rate",), {"reach": REACH}),
    "omega": (RECENT["omega"], ("rate", "decay"), {"reach": REACH}),
}


def loss(
    rule: Rule, x: Float[Tensor, "pairs f prompts"], settings: Settings, kept: Float[Tensor, "f"]
) -> Tensor:
    """Return the loss of a rule after the pairs x at the best gain, as a share of that of
    predicting zero; `kept` is c."""
    return loss_and_gain(rules.coefficients(rule, x, settings), x, kept)[0]


def loss_and_gain(
    v: Float[Tensor, "pairs f prompts"],
    x: Float[Tensor, "pairs f prompts"],
    kept: Float[Tensor, "f"],
) -> tuple[Tensor, Tensor]:
    """Return the loss of W = ∑ y_t v_tᵀ as `loss` does, and the best gain."""
    time = torch.arange(len(x), dtype=x.dtype)
    between = kept ** (time[:, None] - time).abs()[..., None]  # [pairs, pairs, f]
    together = torch.einsum("sip,tip,sti->stp", x, x, between)
    own = (torch.einsum("sip,tip->stp", v, v) * together).sum((0, 1)).mean()
    ahead = kept ** (len(x) - time)[:, None]
    crossed = torch.einsum("tip,tip,ti->p", x, v, ahead).mean()
    return 1 - crossed**2 / own / x.shape[1], crossed / own


def half_of(f: int) -> Float[Tensor, "f"]:
    """Return 1 for the first half of the features, whose columns drift where half does, else 0."""
    return (torch.arange(f) < (f + 1) // 2).double()


def shares_kept(drift: Float[Tensor, "f"]) -> Float[Tensor, "f"]:
    """Return the share c = √(1 − ρ²) that every column keeps of itself."""
    return (1 - drift.square()).sqrt()


def computed(f: int, N: int) -> Tensors:
    """Return, over the rules of `names/recent` and last the Kalman filter,

    recent/all, recent/half  [rules + 1, drifts] the losses beside `recent/at`
    recent/decays            [2, drifts, f] the decays of KDA's channels, where all and half drift
    """
    x = expected.prompts(f, N)
    one = torch.ones(f, dtype=x.dtype)
    results: dict[str, list[list[float]]] = {"all": [], "half": []}
    decays: list[list[Tensor]] = []
    for kind, where in (("all", one), ("half", half_of(f))):
        drifts = [drift * where for drift in DRIFTS]
        for name, (rule, searched, given) in VARIANTS.items():
            best = [tuned(rule, searched, given, x[..., :TUNED_ON], drift) for drift in drifts]
            results[kind].append(_losses(rule, x[..., TUNED_ON:], best, drifts))
            if name == "kda":
                decays.append([torch.as_tensor(settings["decays"]) for settings in best])
        filters: list[Settings] = [{"drift": drift} for drift in drifts]
        results[kind].append(_losses(KALMAN, x[..., TUNED_ON:], filters, drifts))
    return {
        "names/recent": names(VARIANTS),
        "recent/at": np.array(DRIFTS),
        "recent/decays": torch.stack([torch.stack(row) for row in decays]).numpy(),
        **{f"recent/{kind}": np.array(rows) for kind, rows in results.items()},
    }


def tuned(
    rule: Rule, searched: tuple[str, ...], given: Mapping[str, float], x: Tensor, drift: Tensor
) -> Settings:
    """Return the settings of a rule with the least loss over the prompts x."""
    start = beginning(rule.id, searched, x.shape[1], x.shape[1] * expected.VARIANCE)
    return {
        **given,
        **follow(lambda tried: loss(rule, x, {**given, **tried}, shares_kept(drift)), start),
    }


def _losses(rule: Rule, x: Tensor, best: list[Settings], drifts: list[Tensor]) -> list[float]:
    return [
        float(loss(rule, x, settings, shares_kept(drift)))
        for settings, drift in zip(best, drifts, strict=True)
    ]
