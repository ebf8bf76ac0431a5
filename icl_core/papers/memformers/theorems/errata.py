"""Every erratum measured: what the printed formula gives, and what the right one gives, on the same
prompts.

Each function returns the two numbers, as printed and right; what they count is said in its
docstring.
"""

from typing import Any

import torch
from torch import Tensor

from icl_core import in_context_regression as regression
from icl_core.in_context_regression import product, rotation
from icl_core.papers.memformers.shared.baselines import conjugate
from icl_core.papers.memformers.shared.task import PAPER
from icl_core.papers.memformers.shared.variants import distances
from icl_core.papers.memformers.theorems import identities
from icl_core.papers.memformers.theorems.identities import Prompts, by_tokens

PRINTED_D = (1.0, 1.0, 0.5, 0.25, 1.0)  # Section 3.3
# Log-losses of CGD read off Figures 1 to 3, one to four layers.
FIGURE_CGD = (0.73, 0.20, -0.52, -1.47)
SAMPLED = 2**14  # prompts and covariates for the two on the spectrum
HALF_TO_THREE_HALVES = (0.5, 1.5)  # the diagonal of the Λ that tokens cannot have

Pair = tuple[float, float]


def measured(config: Any, prompts: Prompts, steps: Tensor) -> dict[str, Pair]:
    """Return every erratum by its id. `steps` [L]: the a_l of the construction."""
    generator = torch.Generator().manual_seed(2**31 + 71 + config.seed)
    return {
        "double-minus": double_minus(prompts, steps),
        "transpose": transpose(prompts, config),
        "last-sign": last_sign(prompts, steps),
        "n-twice": n_twice(prompts),
        "loop": loop(prompts),
        "tokens": tokens(prompts),
        "letters": letters(prompts, config.layers),
        "square": square(generator),
        "spectrum": spectrum(generator),
        "inverse": inverse(prompts.Sigma),
    }


def constructed(prompts: Prompts, steps: Tensor) -> Tensor:
    """Return w_L of the linear transformer A_l = a_l Σ⁻¹, by its tokens: [d, prompts]."""
    A = steps[:, None, None] * torch.linalg.inv(prompts.Sigma)
    return by_tokens("linear", {"A": A}, prompts)[-1]


def double_minus(prompts: Prompts, steps: Tensor) -> Pair:
    """Measure eqs. 2.6 and 2.7: the mean loss of the construction, in units of what predicting
    zero loses."""
    w = constructed(prompts, steps)
    zero = prompts.length(prompts.target).square().mean()
    as_printed, right = (
        prompts.length(w + sign * prompts.target).square().mean() / zero for sign in (1, -1)
    )
    return float(as_printed), float(right)


def transpose(prompts: Prompts, config: Any) -> Pair:
    """Measure Lemma 2.1 with A_l that are not symmetric: how far the tokens are from its method
    with Q as eq. 2.8 prints it, −[[A, 0], [0, 0]], and with Aᵀ in the place of A; the largest
    difference over prompts and layers, relative to w*."""
    generator = torch.Generator().manual_seed(2**31 + 79 + config.seed)
    case = identities.lemma(prompts, config.layers, generator)
    gaps = []
    for A in (case.given["A"].mT, case.given["A"]):  # the token form itself transposes A
        w = by_tokens("linear", {"A": A}, prompts)
        gaps.append(float(identities.apart(w, case.iterates, prompts.target).max()))
    return gaps[0], gaps[1]


def five_runs(prompts: Prompts, layers: int) -> Pair:
    """Measure Section 3.3's five runs with different U: how far what the last layer finds moves if
    the prompts are turned, with A_l = a_l I, as in Figure 1, and with a fixed matrix, a Σ⁻¹."""
    turn = rotation(len(prompts.Sigma), torch.Generator().manual_seed(2**31 + 83))
    turned = Prompts(
        torch.einsum("ij,jnp->inp", turn, prompts.X),
        turn @ prompts.target,
        turn @ prompts.Sigma @ turn.T,
        turn @ prompts.root @ turn.T,
    )
    unit = float(torch.linalg.eigvalsh(prompts.Sigma).max())
    multiples = torch.eye(len(prompts.Sigma), dtype=torch.float64).expand(layers, -1, -1) / unit
    matrices = torch.linalg.inv(prompts.Sigma).expand(layers, -1, -1) / 2
    gaps = []
    for A in (multiples, matrices):
        w, w_turned = (by_tokens("linear", {"A": A}, each)[-1] for each in (prompts, turned))
        gaps.append(_off(w_turned, turn @ w))
    return gaps[0], gaps[1]


def last_sign(prompts: Prompts, steps: Tensor) -> Pair:
    """Measure A.1's last line: the distance of a query's label after the last layer from y + ⟨w, x⟩
    and from y − ⟨w, x⟩."""
    label = -constructed(prompts, steps)
    w = torch.zeros_like(prompts.target)
    inverse = torch.linalg.inv(prompts.Sigma)
    S = prompts.S
    for step in steps:
        w = w - step * inverse @ product(S, w - prompts.target)
    return _off(w, label), _off(-w, label)


def n_twice(prompts: Prompts) -> Pair:
    """Measure eqs. A.5, A.6 and A.10: the distance of their first step, A = I, from what a layer
    does."""
    A = torch.eye(len(prompts.Sigma), dtype=torch.float64)[None]
    layer = by_tokens("linear", {"A": A}, prompts)[-1]
    right = product(prompts.S, prompts.target)
    return _off(right / prompts.X.shape[1], layer), _off(right, layer)


def loop(prompts: Prompts) -> Pair:
    """Measure A.2's algorithm, which begins at n = 1 though no w_1 was made: the distance of its
    first move, from w_1 = w_0, from conjugate gradient's; and of the move that a loop from 0
    makes."""
    S = prompts.S
    r = product(prompts.S, prompts.target)
    right = regression.conjugate_gradient(S, prompts.target, 1).iterates[1]
    moves = []
    for s in (r + r, r):  # s_1 = r_1 + γ_1 s_0 with r_1 = r_0, so γ_1 = 1; or s_0 = r_0
        moves.append(r.square().sum(0) / (s * product(S, s)).sum(0) * s)
    return _off(moves[0], right), _off(moves[1], right)


def tokens(prompts: Prompts) -> Pair:
    """Measure A.3: the distance of the best that Γ ⊙ R of one register can do, a factor a token,
    from a step with a diagonal matrix Λ; and of d registers, one a coordinate."""
    d, n, _ = prompts.X.shape
    Lambda = torch.linspace(*HALF_TO_THREE_HALVES, d, dtype=torch.float64)
    gradient = product(prompts.S, prompts.target)
    wanted = Lambda[:, None] * gradient
    factor = (
        gradient * wanted
    ).sum() / gradient.square().sum()  # the query's; those of the others come in later
    one = by_tokens("token", {"Gamma": factor.expand(1, 1, n + 1)}, prompts)[-1]
    return _off(one, wanted), _off(
        by_tokens("coordinate", {"Gamma": Lambda[None, None]}, prompts)[-1], wanted
    )


def letters(prompts: Prompts, layers: int) -> Pair:
    """Measure Γ of eq. 1.1, which sums up from w_0, in the place of Γ of eq. 3.4, which is a
    layer's own: the distance of Nesterov's iterate where the first (its sign turned) is put in for
    the second, and where the differences are."""
    case = identities.cases(prompts, layers, torch.Generator().manual_seed(0))["nesterov"]
    Gamma = case.given["Gamma"]
    gaps = []
    for table in (Gamma.cumsum(0), Gamma):
        w = by_tokens("lfom", {"Gamma": table}, prompts)[-1]
        gaps.append(_off(w, case.iterates[-1]))
    return gaps[0], gaps[1]


def square(generator: torch.Generator) -> Pair:
    """Measure Section 3.3: the distance of the covariance of x = U D z, as the authors draw it,
    from U D Uᵀ and U D² Uᵀ."""
    D = torch.tensor(PRINTED_D, dtype=torch.float64)
    U = rotation(len(PRINTED_D), generator)
    z = torch.randn(len(D), SAMPLED, generator=generator, dtype=torch.float64)
    x = U @ (D[:, None] * z)
    covariance = x @ x.T / SAMPLED
    return _off((U * D) @ U.T, covariance), _off((U * D.square()) @ U.T, covariance)


def spectrum(generator: torch.Generator) -> Pair:
    """Measure Section 3.3 against Appendix D: the largest distance, over one to four steps at d = 5
    and n = 20, of CGD's log-loss from that in Figures 1 to 3."""
    white = regression.grams(len(PAPER), 20, SAMPLED, generator)
    gaps = []
    for values in (PRINTED_D, PAPER):
        D = torch.tensor(values, dtype=torch.float64)
        logs = (
            conjugate(regression.coloured(white, D), D, len(FIGURE_CGD))[0].double().mean(-1).log()
        )
        gaps.append(float((logs - torch.tensor(FIGURE_CGD)).abs().max()))
    return gaps[0], gaps[1]


def inverse(Sigma: Tensor) -> Pair:
    """Measure Appendix D's title: the paper's own distance Dist(Σ^½ A Σ^½, I) at A = Σ, and at A =
    Σ⁻¹."""
    eye = torch.eye(len(Sigma), dtype=Sigma.dtype)
    return float(distances(Sigma @ Sigma)), float(distances(eye))


def _off(value: Tensor, right: Tensor) -> float:
    """Return the distance of all entries together, relative to the second's size."""
    return float((value - right).norm() / right.norm())
