"""How the numbers of one sequence are made: an attention weight from its score, a prediction from
counts or logits."""

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise, product

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Run
from icl_core.contract.explanation import PRODUCT, Explanation, Map, Term, softmax
from icl_core.figures.attention_maps import positions
from icl_core.papers.birth.counting.load_run import Reading, parameters_at, read
from icl_core.papers.birth.counting.markov_chains import LETTERS
from icl_core.papers.birth.counting.settings import View
from icl_core.papers.birth.counting.strategy import NAMES
from icl_core.papers.birth.shared.explanations import attended

SAYS = (
    "Here a · b stands for (W_Q a)ᵀ (W_K b) / √d, and a · r(3) for (W_Q a)ᵀ r_3 / √d, the key's "
    "distance being 3."
)
CALLED = {
    "w_E": "state",
    "o¹": "copy by layer 1",
    "o²": "output of layer 2",
}  # of the stream, by sign
ONE_LAYER = {"o¹": "output of layer 1"}
COUNTED = {
    "uniform": "A uniform guess gives each of {k} states the same.",
    "unigram": "{j} is {n} of {total} states so far. With one more of each state that makes "
    "({n} + 1) / ({total} + {k}).",
    "bigram": "{j} is {n} of {total} states that followed {i} so far. With one more of each "
    "state that makes "
    "({n} + 1) / ({total} + {k}).",
}
MODEL = (
    "The model gives every next state a logit, the sum of what the parts of the stream say for "
    "it; the softmax makes probabilities of the logits."
)


def _attention(first: bool, run: Run, view: View) -> list[Map]:
    """The map of layer 1, or of the last layer."""
    reading, parameters = read(run, view), _double(run, view)
    layer = 1 if first else run.config.layers
    parts = dict(list(streams(parameters, reading).items())[:layer])  # what has been written before
    shown = reading.attention[layer - 1].copy()
    shown[np.triu_indices(len(shown), 1)] = np.nan
    labels = positions(reading.letters)[0]
    explain = _explains(reading.letters, parts, parameters, layer)
    return [Map(f"Layer {layer}", shown, ("query", "key"), labels, labels, explain)]


first, second = (partial(_attention, each) for each in (True, False))


def _double(run: Run, view: View) -> dict[str, Tensor]:
    return {
        name: parameter[0].double()
        for name, parameter in parameters_at(run, run.snapshot_at(view)).items()
    }


def streams(parameters: dict[str, Tensor], reading: Reading) -> dict[str, Tensor]:
    """What the stream is the sum of in the end, by sign: [T, d] each; before layer l the first l of
    them."""
    parts = {"w_E": parameters["W_E"][reading.tokens]}
    for layer, weights in enumerate(reading.attention, 1):
        x = torch.stack(list(parts.values())).sum(0)
        read = torch.from_numpy(weights).double() @ x
        parts["o" + "¹²"[layer - 1]] = read @ parameters[f"W_V{layer}"] @ parameters[f"W_O{layer}"]
    return parts


def _explains(
    letters: list[str], parts: dict[str, Tensor], parameters: dict[str, Tensor], layer: int
) -> Callable[[int, int], Explanation]:
    """How the weights of a layer are made of what it reads."""
    W_Q, W_K, R = (parameters[f"{name}{layer}"] for name in ("W_Q", "W_K", "R"))
    W_Q = W_Q / math.sqrt(len(W_Q))

    def explain(query: int, key: int) -> Explanation:
        asks = {part: stream[query] @ W_Q for part, stream in parts.items()}  # (d,)
        calls = {part: stream @ W_K for part, stream in parts.items()}  # (T, d)
        terms = [
            Term(
                f"{_sign(a, letters, query)} · {_sign(b, letters, key)}",
                float(asks[a] @ calls[b][key]),
                f"query's {CALLED[a]} × key's {CALLED[b]}",
            )
            for a, b in product(parts, parts)
        ]
        distance = query - key
        terms += [
            Term(
                f"{_sign(a, letters, query)} · r({distance})",
                float(asks[a] @ R[distance]),
                f"query's {CALLED[a]} × distance",
            )
            for a in parts
        ]
        asked, called = (torch.stack(list(stream.values())).sum(0) for stream in (asks, calls))
        scores = (called[: query + 1] + R[: query + 1].flip(0)) @ asked
        return attended(letters, query, key, terms, scores.numpy(), SAYS)

    return explain


def _sign(part: str, letters: list[str], at: int) -> str:
    """A part of the stream at a position, as the terms write it."""
    return f"w_E({letters[at]})" if part == "w_E" else f"{part}({at + 1})"


def following(run: Run, view: View) -> list[Map]:
    """What is predicted after the position shown: a row for the model and for each strategy."""
    reading, k = read(run, view), run.config.k
    at, ids = reading.at(view), list(reading.strategies)
    shown = np.array(
        [reading.model[at], *(reading.strategies[name][at] for name in ids)], np.float32
    )
    parameters = _double(run, view)
    logits = {
        part: (part_stream[at] @ parameters["W_U"].T).numpy()
        for part, part_stream in streams(parameters, reading).items()
    }

    def explain(row: int, state: int) -> Explanation:
        title = f"{LETTERS[state]} after {reading.letters[at]} at {at + 1}"
        return (
            _said(title, logits, state)
            if row == 0
            else _counted(title, reading, at, ids[row - 1], state, k)
        )

    rows = ["trained", *(NAMES.get(name, name) for name in ids)]
    return [
        Map("Next state", shown, ("prediction", "next state"), rows, list(LETTERS[:k]), explain)
    ]


def _said(title: str, logits: dict[str, np.ndarray], state: int) -> Explanation:
    """A probability of the model, from its logit."""
    called = CALLED | (ONE_LAYER if len(logits) == 2 else {})
    terms = tuple(
        Term(f"W_U({LETTERS[state]})ᵀ {part}", float(row[state]), called[part])
        for part, row in logits.items()
    )
    total = np.sum(list(logits.values()), axis=0)
    share, competitors = softmax([f"next {LETTERS[j]}" for j in range(len(total))], total, state)
    return Explanation(
        f"The model: {title}", MODEL, share, terms, share=share, competitors=competitors
    )


def _counted(title: str, reading: Reading, at: int, name: str, state: int, k: int) -> Explanation:
    """A probability of a strategy, from its counts."""
    here, seen = reading.tokens[at], reading.tokens[: at + 1]
    if name == "bigram":
        seen = [after for before, after in pairwise(seen) if before == here]
    n, total, j = seen.count(state), len(seen), LETTERS[state]
    says = COUNTED[name].format(n=n, total=total, k=k, i=LETTERS[here], j=j)
    terms = (
        Term(f"{n} + 1", n + 1.0, f"how often {j} was counted, and one"),
        Term(
            f"1 / ({total} + {k})", 1 / (total + k), "all that were counted, and one of each state"
        ),
    )
    if name == "uniform":
        terms = (Term("1 / k", 1 / k, "one of k states"),)
    value = float(reading.strategies[name][at][state])
    return Explanation(f"{NAMES[name].capitalize()}: {title}", says, value, terms, PRODUCT)
