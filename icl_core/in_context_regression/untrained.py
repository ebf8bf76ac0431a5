"""Learners of linear regression that need no training: classical methods, which solve for the
weights anew after every pair, and update rules, which keep a state (`rules`); and what a learner
keeps of w* along each direction of a prompt.

After every pair each of them has weights ŵ, and answers a query x by ⟨ŵ, x⟩. With

    S = 1/n ∑ x xᵀ,  b = 1/n ∑ y x,

sums over the pairs read and n the length of home's prompts, a method is a function of S and b, and
a rule is one of the pairs in their order. Most of them are linear in the labels. The settings of
each, such as its learning rate, are those with the least error after n pairs on prompts of its home
(`learner_table`).

Covariates are x [pairs, d, prompts]. Labels are [pairs, sets, prompts]: several sets of labels for
the same covariates are several problems. Weights are [sets, d, prompts], of all lengths
[lengths, sets, d, prompts] from 0 to all pairs.

With S = ∑ λ_i v_i v_iᵀ the filter of weights ŵ is ⟨v_i, ŵ⟩ / ⟨v_i, w*⟩ at λ_i. Of a method with
fixed coefficients and without noise it is one function of λ for every prompt: a polynomial of
degree L that is 0 at 0 for L steps, λ / (λ + r) for ridge. Conjugate gradient chooses its
polynomial anew for every prompt.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.in_context_regression import rules
from icl_core.in_context_regression.home import Home, Prompts
from icl_core.in_context_regression.recent_rules import RECENT
from icl_core.in_context_regression.rules import RULES, Rule, Settings, State
from icl_core.in_context_regression.solvers import Conjugate, Grams, conjugate_gradient

Covariates = Float[Tensor, "pairs d prompts"]
Labels = Float[Tensor, "pairs sets prompts"]
Weights = Float[Tensor, "lengths sets d prompts"]
# Of S and b [d, sets, prompts], the settings, home and the number of steps to weights like b.
Method = Callable[[Grams, Tensor, Settings, Home, int], Tensor]
QUERIES, QUERY_SEED = 8, 2**31 + 53  # of the error of a learner that has no weights
RANK = 1e-12  # eigenvalues below this share of the largest one are zero
EVERY_RULE = {**RULES, **RECENT}
OBJECTIVES = {
    "ridge": "½ ∑ (y − ⟨w, x⟩)² / n + ½ λ |w|², of all pairs",
    "bayes": "the expected error, of all pairs",
}
METHODS, STATES = "solves anew after every pair", "keeps a state"


@dataclass(frozen=True)
class Learner:
    """A learner that needs no training.

    id         its name in files
    name       its name for people
    short      its name in a legend
    family     METHODS or STATES
    equation   what it does, as text
    settings   the names of its settings, in the order of `box`
    box        the range of each setting that is searched, in natural logarithms if `log`
    log        whether each setting is searched by factors
    method     of a method, the function that solves; None for a rule
    rule       of a rule, its id in `EVERY_RULE`
    whitens    whether it reads Σ^(-1/2) x, with what is known of home's Σ, and so steps along
               Σ⁻¹ times the gradient
    linear     whether it is linear in the labels
    by_query   whether what it does depends on the query, so that it has no weights: those that are
               given for it are its answers to the unit vectors
    """

    id: str
    name: str
    short: str
    family: str
    equation: str
    settings: tuple[str, ...] = ()
    box: tuple[tuple[float, float], ...] = ()
    log: tuple[bool, ...] = ()
    method: Method | None = None
    rule: str = ""
    whitens: bool = False
    linear: bool = True
    by_query: bool = False

    @property
    def objective(self) -> str:
        """What it makes smaller, as text; of a rule, by one update."""
        if self.rule:
            return EVERY_RULE[self.rule].objective
        return OBJECTIVES.get(self.id, "½ ∑ (y − ⟨w, x⟩)², of all pairs")


def weights(
    learner: Learner,
    prompts: Prompts,
    settings: Settings,
    home: Home,
    steps: int,
    every: bool = True,
) -> Float[Tensor, "lengths d prompts"]:
    """Return ŵ after 0, 1, … all pairs of every prompt, or after all pairs alone; `steps` are those
    of iterative methods."""
    return solve(learner, prompts.x, prompts.y[:, None], settings, home, steps, every)[:, 0]


def solve(
    learner: Learner,
    x: Covariates,
    y: Labels,
    settings: Settings,
    home: Home,
    steps: int,
    every: bool = True,
) -> Weights:
    """Return the weights for several sets of labels after 0, 1, … all pairs, or after all pairs
    alone. With x as the labels they are the columns of the matrix M with ŵ = M w*, of a learner
    that is linear in the labels."""
    if learner.whitens:
        scale = home.known_variances().rsqrt()[:, None]  # [d, 1]
        return scale * _without_whitening(learner, scale * x, y, settings, home, steps, every)
    return _without_whitening(learner, x, y, settings, home, steps, every)


def _without_whitening(
    learner: Learner,
    x: Covariates,
    y: Labels,
    settings: Settings,
    home: Home,
    steps: int,
    every: bool,
) -> Weights:
    if learner.method is None:
        numbers = {**settings, "steps": steps}

        def read(rule: Rule, state: State) -> Tensor:
            return rules.matrix(rule, state, numbers)

        return _by_rule(learner.rule, x, y, numbers, every, read)
    S, b = sums(x, y, home.n, every)  # [lengths, d, d, prompts], [lengths, sets, d, prompts]
    lengths, _, d, prompts = S.shape
    # Lengths become prompts, since a method treats each prompt by itself.
    S = S.permute(1, 2, 0, 3).reshape(d, d, lengths * prompts)
    b = b.permute(2, 1, 0, 3).reshape(d, y.shape[1], lengths * prompts)
    solution = learner.method(S, b, settings, home, steps)
    return solution.reshape(d, y.shape[1], lengths, prompts).permute(2, 1, 0, 3)


def answers(
    learner: Learner,
    x: Covariates,
    y: Labels,
    query: Float[Tensor, "d prompts"],
    settings: Settings,
    home: Home,
    steps: int,
    every: bool = True,
) -> Float[Tensor, "lengths sets prompts"]:
    """Return the answers to the query of every prompt, for several sets of labels, after 0, 1, …
    all pairs, or after all pairs alone."""
    if not learner.by_query:
        return (solve(learner, x, y, settings, home, steps, every) * query).sum(-2)
    numbers = {**settings, "steps": steps}

    def read(rule: Rule, state: State) -> Tensor:
        return rules.predict(rule, state, query, numbers)

    return _by_rule(learner.rule, x, y, numbers, every, read)


def queries(prompts: Prompts) -> Float[Tensor, "queries d prompts"]:
    """Return fresh queries of every prompt, the same at every call."""
    generator = torch.Generator().manual_seed(QUERY_SEED)
    d, count = prompts.w.shape
    white = torch.randn(QUERIES, d, count, generator=generator, dtype=torch.float64)
    root = torch.linalg.cholesky(prompts.covariance.permute(2, 0, 1))  # [prompts, d, d]
    return torch.einsum("pij,qjp->qip", root, white)


def errors_by_query(
    learner: Learner,
    prompts: Prompts,
    settings: Settings,
    home: Home,
    steps: int,
    every: bool = False,
) -> Float[Tensor, "lengths prompts"]:
    """Return (Xᵀ c − q)ᵀ C (Xᵀ c − q) + τ² |c|² for the answer ∑ y_t c_t to a query q, as a mean
    over queries: the error's mean over w* and noise, of any learner that is linear in the
    labels."""
    x = prompts.x
    pairs, _, count = x.shape
    labels = torch.eye(pairs, dtype=x.dtype)[:, :, None].expand(-1, -1, count)
    variances = home.target_variances()[:, None]
    total = torch.zeros(1, 1, dtype=x.dtype)
    for query in queries(prompts):
        c = answers(learner, x, labels, query, settings, home, steps, every)
        rest = torch.einsum("ltp,tdp->ldp", c, x) - query
        total = total + (variances * rest.square()).sum(1) + home.noise**2 * c.square().sum(1)
    return total / QUERIES


def _by_rule(
    rule_id: str,
    x: Covariates,
    y: Labels,
    settings: Settings,
    every: bool,
    read: Callable[[Rule, State], Tensor],
) -> Tensor:
    """Return what is read of the states of a rule, [lengths, …]."""
    rule = EVERY_RULE[rule_id]
    _, d, prompts = x.shape
    state = rule.start(x.new_zeros(d, prompts), x.new_zeros(y.shape[1], prompts))
    results = [read(rule, state)] if every else []
    for key, value in zip(x, y, strict=True):
        state = rule.update(state, key, value, settings)
        if every:
            results.append(read(rule, state))
    return torch.stack(results) if every else read(rule, state)[None]


def sums(x: Covariates, y: Labels, n: int, every: bool = True) -> tuple[Tensor, Tensor]:
    """Return S [lengths, d, d, prompts] and b [lengths, sets, d, prompts] after 0, 1, … all pairs,
    or after all pairs alone; empty sums are zero."""
    products = x[:, :, None] * x[:, None]  # [pairs, d, d, prompts]
    labelled = y[:, :, None] * x[:, None]  # [pairs, sets, d, prompts]
    if not every:
        return products.sum(0, keepdim=True) / n, labelled.sum(0, keepdim=True) / n
    zero = products.new_zeros(1, *products.shape[1:])
    none = labelled.new_zeros(1, *labelled.shape[1:])
    S = torch.cat([zero, products.cumsum(0)]) / n
    return S, torch.cat([none, labelled.cumsum(0)]) / n


def least_squares(S: Grams, b: Tensor) -> Tensor:
    """Return S⁺ b, the shortest weights with S w = b; b is in the range of S."""
    return torch.einsum("ijp,jsp->isp", inverse(S), b)


def inverse(S: Grams) -> Grams:
    """Return the pseudo-inverse of every S."""
    values, vectors = torch.linalg.eigh(S.permute(2, 0, 1))  # [prompts, d], [prompts, d, d]
    largest = values[:, -1:].clamp_min(torch.finfo(values.dtype).tiny)
    inverses = torch.where(values > RANK * largest, 1 / values, 0.0)
    return torch.einsum("pik,pk,pjk->ijp", vectors, inverses, vectors)


def conjugate_iterates(S: Grams, b: Float[Tensor, "d sets prompts"], steps: int) -> Conjugate:
    """Return the steps of conjugate gradient, every set of labels as a prompt of its own, since α
    and γ depend on the labels."""
    d, sets, prompts = b.shape
    every_S = S[:, :, None].expand(d, d, sets, prompts).reshape(d, d, sets * prompts)
    target = least_squares(S, b).reshape(d, sets * prompts)
    return conjugate_gradient(every_S, target, steps)


def posterior_covariance(S: Grams, home: Home) -> Grams:
    """Return the covariance of w* given the pairs of a prompt of home: τ²/n (S + τ²/n C⁻¹)⁻¹ with
    the prior's covariance C; without noise what is left of C where S is singular."""
    root = home.target_variances().sqrt()  # [d]
    outer = (root[:, None] * root)[:, :, None]
    one = torch.eye(len(S), dtype=S.dtype)[:, :, None]
    share = home.noise**2 / home.n
    scaled = S * outer
    if share == 0:
        return outer * (one - torch.einsum("ijp,jkp->ikp", inverse(scaled), scaled))
    return outer * share * inverse(scaled + share * one)


Grid = Float[Tensor, "points"]
ROUNDING = 1e-12  # below this share of its length a component of w* is zero


def has_filter_curve(learner: Learner, home: Home) -> bool:
    """Return whether a learner's filter is one function of λ for every prompt of home."""
    if learner.whitens or not learner.linear:
        return False
    if learner.id == "bayes":
        return home.target == "white"
    return learner.method is not None or learner.id == "sum"


def filter_curve(learner: Learner, settings: Settings, home: Home, steps: int, grid: Grid) -> Grid:
    """Return the filter of such a learner at eigenvalues λ: what it makes of one feature whose
    S is λ and whose w* is 1."""
    if learner.method is None:
        return home.n * settings["rate"] * grid
    one_feature = replace(home, d=1, covariance="isotropic")
    S = grid[None, None]  # [1, 1, points]
    return learner.method(S, S, settings, one_feature, steps)[0, 0]


def conjugate_filter_curve(S: Grams, b: Float[Tensor, "d 1"], steps: int, grid: Grid) -> Grid:
    """Return the filter that conjugate gradient takes for one prompt, S [d, d, 1], at eigenvalues
    λ: its steps with the α and γ of that prompt."""
    own = conjugate_iterates(S, b[:, None], steps)
    w = torch.zeros_like(grid)
    direction = torch.zeros_like(grid)
    for alpha, gamma in zip(own.alpha[:, 0], own.gamma[:, 0], strict=True):
        direction = grid * (1 - w) + gamma * direction
        w = w + alpha * direction
    return w


def along_eigenvectors(
    weights: Float[Tensor, "d"], w: Float[Tensor, "d"], S: Float[Tensor, "d d"]
) -> tuple[Float[Tensor, "d"], Float[Tensor, "d"]]:
    """Return the eigenvalues of S, ascending, and the filter of weights at each; NaN where w* has
    nothing but rounding along the eigenvector."""
    eigenvalues, vectors = torch.linalg.eigh(S)
    target = vectors.T @ w
    ratio = (vectors.T @ weights) / target
    return eigenvalues, torch.where(target.abs() > ROUNDING * w.norm(), ratio, torch.nan)
