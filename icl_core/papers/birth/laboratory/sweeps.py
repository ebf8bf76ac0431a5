"""What memories recall, over widths, numbers of pairs and forms. Every pair that is asked for is
one of the stored."""

from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float

from icl_core.papers.birth.laboratory import memory, vectors
from icl_core.papers.birth.laboratory.settings import HEADS
from icl_core.papers.birth.shared.expected_recall import recalled

WIDTHS = (16, 32, 64, 128, 256)
SPREAD_WIDTHS = (16, 32, 64, 128, 256, 512)  # at which inner products are taken
SPREAD = 1024  # vectors of which inner products are taken
CAPACITY = tuple(2**power for power in range(2, 14))  # numbers of pairs, of one matrix
PAIRS = CAPACITY[:9]  # and of all forms
RANKS = WIDTHS[0] // 4, WIDTHS[0] // 2, *WIDTHS
SPREAD_OUT = ("independent", "remapped", "itself")  # of which all are kept, counted in BINS
BINS = np.linspace(-1, 1.5, 81)
ASKED = 256  # pairs of a memory that are asked for, at most
MLP_THRESHOLD = 0.5  # of the MLP that stores pairs
TOKENS, ANSWERS, SETS = 12, 8, (1, 2, 3)  # of the sets: vectors, outputs that sets share, members
THRESHOLDS = np.arange(25) / 20
Rows = dict[str, np.ndarray]


def inner_products(seed: int) -> Rows:
    """Of random vectors, [widths]: the root mean square of inner products, the mean of norms,
    within what range 95% of the inner products of two vectors lie; and of some `share_…` [widths,
    bins], how they are spread."""
    found = [vectors.near(SPREAD, d, seed) for d in SPREAD_WIDTHS]
    root = {
        name: [np.sqrt(np.mean(each[name] ** 2)) for each in found]
        for name in found[0]
        if "norm" not in name
    }
    mean = {name: [each[name].mean() for each in found] for name in found[0] if "norm" in name}
    within = {"within": [np.quantile(np.abs(each["independent"]), 0.95) for each in found]}
    for each in found:
        each["itself"] = each["norm"] ** 2
    share = {
        f"share_{name}": [np.histogram(each[name], BINS)[0] / SPREAD for each in found]
        for name in SPREAD_OUT
    }
    return {name: np.array(column) for name, column in {**root, **mean, **within, **share}.items()}


def asked_of(count: int) -> np.ndarray:
    """Which of so many pairs are asked for, evenly among the ranks."""
    return np.linspace(0, count - 1, min(count, ASKED)).round().astype(int)


def capacity(d: int, exponent: float, seed: int) -> Rows:
    """Shares recalled by one matrix of width d, [pairs]: stored alike, `equal`; stored by Zipf's
    frequencies, of all pairs, `zipf`, and of the pairs as they come up, `asked`."""
    U, V = vectors.pairs(CAPACITY[-1], d, seed)
    draw, rows = np.random.default_rng((seed, d, 9)), []
    for count in CAPACITY:
        parts = [
            slice(first, first + count) for first in range(0, max(count, ASKED), count)
        ]  # of few pairs, several
        rows.append(np.mean([_shares(U[part], V[part], exponent, draw) for part in parts], 0))
    return dict(zip(("equal", "zipf", "asked"), np.array(rows).T, strict=True))


def _shares(
    U: np.ndarray, V: np.ndarray, exponent: float, draw: np.random.Generator
) -> list[float]:
    """The three shares of `capacity`, of one memory of each kind."""
    often, asked = vectors.zipf(len(U), exponent), asked_of(len(U))
    met = draw.choice(len(U), len(asked), p=often)
    alike, strong = memory.full(U, V), memory.full(U, V, (often / often[0]).astype(np.float32))
    which = ((alike, asked), (strong, asked), (strong, met))
    return [float(memory.right(U[each] @ W.T, V, each).mean()) for W, each in which]


def expected(d: int, exponent: float) -> Rows:
    """The same by theory, [pairs]."""
    rows = []
    for count in CAPACITY:
        strengths = np.arange(1, count + 1) ** -exponent
        by_rank = recalled(d, strengths)
        rows.append(
            [
                recalled(d, np.ones(count)).mean(),
                by_rank.mean(),
                by_rank @ vectors.zipf(count, exponent),
            ]
        )
    return dict(zip(("equal", "zipf", "asked"), np.array(rows).T, strict=True))


def forms(d: int, seed: int) -> Rows:
    """Shares of equally strong pairs that other forms recall: `factorised` and `best`, the nearest
    matrix of a rank, [pairs, ranks], NaN beyond the width; `mlp` [pairs]; `shared` and `split`
    [pairs, heads taken away]."""
    found = [_forms_of(count, d, seed) for count in PAIRS]
    return {name: np.array([each[name] for each in found]) for name in found[0]}


def _forms_of(count: int, d: int, seed: int) -> dict[str, Any]:
    U, V = vectors.pairs(count, d, seed)
    asked = asked_of(count)
    x = U[asked]

    def share(answers: np.ndarray) -> float:
        return float(memory.right(answers, V, asked).mean())

    def by_rank(factors) -> list[float]:
        parts = (factors(rank) if rank <= d else None for rank in RANKS)
        return [np.nan if part is None else share(x @ part[1].T @ part[0].T) for part in parts]

    left, right = memory.best_factors(memory.full(U, V))
    made = {"shared": memory.shared_heads, "split": memory.split_heads}
    answers = {
        name: memory.answers_of_heads(make(U, V, HEADS, seed), x) for name, make in made.items()
    }
    return {
        "factorised": by_rank(lambda rank: memory.factorised(U, V, rank, seed)),
        "best": by_rank(lambda rank: (left[:, :rank], right[:rank])),
        "mlp": share(memory.mlp(x, U, V, MLP_THRESHOLD)),
        **{
            name: [share(each[gone:].sum(0)) for gone in range(HEADS)]
            for name, each in answers.items()
        },
    }


def sets_of(
    members: int, d: int, seed: int
) -> tuple[Float[np.ndarray, "sets d"], Float[np.ndarray, "answers d"], np.ndarray]:
    """All sets of so many of the tokens as the sum of their vectors, to about length 1; the
    outputs; which of these is each set's, drawn at random and equally often."""
    tokens, V = vectors.pairs(TOKENS, d, seed)
    every = list(combinations(range(TOKENS), members))
    keys = np.array([tokens[list(each)].sum(0) for each in every]) / np.float32(np.sqrt(members))
    order = np.random.default_rng((seed, members)).permutation(len(every))
    return keys, V[:ANSWERS], order % ANSWERS


def sets(d: int, seed: int) -> Rows:
    """Shares of sets recalled: `linear`, by a matrix, [members], and `sets`, by an MLP, [members,
    thresholds]."""
    found = {"linear": [], "sets": []}
    for members in SETS:
        keys, V, which = sets_of(members, d, seed)
        found["linear"].append(memory.right(keys @ memory.full(keys, V[which]).T, V, which).mean())
        answers = (memory.mlp(keys, keys, V[which], threshold) for threshold in THRESHOLDS)
        found["sets"].append([memory.right(each, V, which).mean() for each in answers])
    return {name: np.array(rows) for name, rows in found.items()}
