"""What memories recall, over widths, numbers of pairs and forms. Every pair that is asked for is
one of the stored."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float

from icl_core.papers.birth.laboratory import memory
from icl_core.papers.birth.laboratory.settings import HEADS
from icl_core.papers.birth.shared.expected_recall import recalled

WIDTHS = (16, 32, 64, 128, 256)
SPREAD_WIDTHS = (16, 32, 64, 128, 256, 512)  # at which inner products are taken
SPREAD = 1024  # vectors of which inner products are taken
CAPACITY = tuple(2**power for power in range(2, 14))  # numbers of pairs, of one matrix
PAIRS = CAPACITY[:9]  # and of all forms
RANKS = (WIDTHS[0] // 4, WIDTHS[0] // 2, *WIDTHS)
SPREAD_OUT = ("independent", "remapped", "itself")  # of which all are kept, counted in BINS
BINS = np.linspace(-1, 1.5, 81)
ASKED = 256  # pairs of a memory that are asked for, at most
MLP_THRESHOLD = 0.5  # of the MLP that stores pairs
TOKENS = 12  # vectors of which sets are made
ANSWERS = 8  # outputs that sets share
SETS = (1, 2, 3)  # numbers of members
THRESHOLDS = np.arange(25) / 20
Rows = dict[str, np.ndarray]


def inner_products(seed: int) -> Rows:
    """Return statistics of random vectors, [widths] by name: the root mean square of inner
    products, the mean of norms, `within` what range 95% of the inner products of two vectors lie;
    and of some `share_…` [widths, bins], how they are spread."""
    samples = [memory.near(SPREAD, d, seed) for d in SPREAD_WIDTHS]  # [SPREAD] each, by name
    columns = {}
    for name in samples[0]:
        if "norm" not in name:
            columns[name] = [np.sqrt(np.mean(sample[name] ** 2)) for sample in samples]
    for name in samples[0]:
        if "norm" in name:
            columns[name] = [sample[name].mean() for sample in samples]
    columns["within"] = [np.quantile(np.abs(sample["independent"]), 0.95) for sample in samples]
    for sample in samples:
        sample["itself"] = sample["norm"] ** 2
    for name in SPREAD_OUT:
        counts = [np.histogram(sample[name], BINS)[0] for sample in samples]  # (bins,) each
        columns[f"share_{name}"] = [row / SPREAD for row in counts]
    return {name: np.array(column) for name, column in columns.items()}


def asked_of(count: int) -> np.ndarray:
    """Return the indices of the pairs that are asked for, of `count` pairs, evenly among the
    ranks."""
    return np.linspace(0, count - 1, min(count, ASKED)).round().astype(int)


def capacity(d: int, exponent: float, seed: int) -> Rows:
    """Return the shares recalled by one matrix of width d, [pairs]: stored alike, `equal`; stored
    by Zipf's frequencies, of all pairs, `zipf`, and of the pairs as they come up, `asked`."""
    U, V = memory.pairs(CAPACITY[-1], d, seed)
    draw = np.random.default_rng((seed, d, 9))
    rows = []
    for count in CAPACITY:
        # several memories of few pairs, one of many
        parts = [slice(first, first + count) for first in range(0, max(count, ASKED), count)]
        shares = [_shares(U[part], V[part], exponent, draw) for part in parts]
        rows.append(np.mean(shares, 0))  # (memories, 3) to (3,)
    return dict(zip(("equal", "zipf", "asked"), np.array(rows).T, strict=True))


def _shares(
    U: np.ndarray, V: np.ndarray, exponent: float, draw: np.random.Generator
) -> list[float]:
    """Return the three shares of `capacity`, of one memory of each kind."""
    often = memory.zipf(len(U), exponent)
    asked = asked_of(len(U))
    occurring = draw.choice(len(U), len(asked), p=often)  # pairs as often as they come up
    equal = memory.full(U, V)
    by_frequency = memory.full(U, V, (often / often[0]).astype(np.float32))

    def share(W: np.ndarray, pairs: np.ndarray) -> float:
        return float(memory.right(U[pairs] @ W.T, V, pairs).mean())

    return [share(equal, asked), share(by_frequency, asked), share(by_frequency, occurring)]


def expected(d: int, exponent: float) -> Rows:
    """Return the shares of `capacity` by theory, [pairs]."""
    rows = []
    for count in CAPACITY:
        strengths = np.arange(1, count + 1) ** -exponent
        by_rank = recalled(d, strengths)
        equal = recalled(d, np.ones(count)).mean()
        rows.append([equal, by_rank.mean(), by_rank @ memory.zipf(count, exponent)])
    return dict(zip(("equal", "zipf", "asked"), np.array(rows).T, strict=True))


def forms(d: int, seed: int) -> Rows:
    """Return the shares of equally strong pairs that other forms recall: `factorised` and `best`,
    the nearest matrix of a rank, [pairs, ranks], NaN beyond the width; `mlp` [pairs]; `shared` and
    `split` [pairs, heads taken away]."""
    rows = [_forms_of(count, d, seed) for count in PAIRS]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _forms_of(count: int, d: int, seed: int) -> dict[str, Any]:
    """Return the shares of `forms` for one number of pairs."""
    U, V = memory.pairs(count, d, seed)
    asked = asked_of(count)
    x = U[asked]

    def share(answers: np.ndarray) -> float:
        return float(memory.right(answers, V, asked).mean())

    def by_rank(factors: Callable[[int], memory.Factors]) -> list[float]:
        shares = []
        for rank in RANKS:
            if rank > d:
                shares.append(np.nan)
                continue
            A, B = factors(rank)
            shares.append(share(x @ B.T @ A.T))
        return shares

    def by_taken(heads: list[memory.Factors]) -> list[float]:
        answers = memory.answers_of_heads(heads, x)  # (heads, asked, d)
        return [share(answers[taken:].sum(0)) for taken in range(HEADS)]

    left, right = memory.best_factors(memory.full(U, V))
    return {
        "factorised": by_rank(lambda rank: memory.factorised(U, V, rank, seed)),
        "best": by_rank(lambda rank: (left[:, :rank], right[:rank])),
        "mlp": share(memory.mlp(x, U, V, MLP_THRESHOLD)),
        "shared": by_taken(memory.shared_heads(U, V, HEADS, seed)),
        "split": by_taken(memory.split_heads(U, V, HEADS, seed)),
    }


def sets_of(
    members: int, d: int, seed: int
) -> tuple[Float[np.ndarray, "sets d"], Float[np.ndarray, "answers d"], np.ndarray]:
    """Return all sets of `members` of the tokens as the sum of their vectors, to about length 1;
    the outputs; which of these is each set's, drawn at random and equally often."""
    tokens, V = memory.pairs(TOKENS, d, seed)
    subsets = list(combinations(range(TOKENS), members))
    sums = np.array([tokens[list(subset)].sum(0) for subset in subsets])  # (sets, d)
    keys = sums / np.float32(np.sqrt(members))
    order = np.random.default_rng((seed, members)).permutation(len(subsets))
    return keys, V[:ANSWERS], order % ANSWERS


def sets(d: int, seed: int) -> Rows:
    """Return the shares of sets recalled: `linear`, by a matrix, [members], and `sets`, by an MLP,
    [members, thresholds]."""
    by_matrix = []
    by_mlp = []
    for members in SETS:
        keys, V, indices = sets_of(members, d, seed)
        answers = keys @ memory.full(keys, V[indices]).T  # (sets, d)
        by_matrix.append(memory.right(answers, V, indices).mean())
        shares = []
        for threshold in THRESHOLDS:
            answers = memory.mlp(keys, keys, V[indices], threshold)
            shares.append(memory.right(answers, V, indices).mean())
        by_mlp.append(shares)
    return {"linear": np.array(by_matrix), "sets": np.array(by_mlp)}
