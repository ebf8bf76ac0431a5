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
# the parts of the stream, by sign
CALLED = {
    "w_E": "state",
    "o¹": "copy by layer 1",
    "o²": "output of layer 2",
}
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
    """Return the map of layer 1, or of the last layer."""
    reading = read(run, view)
    parameters = _double(run, view)
    layer = 1 if first else run.config.layers
    # those that have been written before the layer
    parts = dict(list(streams(parameters, reading).items())[:layer])
    shown = reading.attention[layer - 1].copy()
    shown[np.triu_indices(len(shown), 1)] = np.nan
    labels = positions(reading.letters)[0]
    explain = _explains(reading.letters, parts, parameters, layer)
    return [Map(f"Layer {layer}", shown, ("query", "key"), labels, labels, explain)]


first = partial(_attention, True)
second = partial(_attention, False)


def _double(run: Run, view: View) -> dict[str, Tensor]:
    """Return the parameters at the snapshot shown, float64, without the axis of seeds."""
    return {
        name: parameter[0].double()
        for name, parameter in parameters_at(run, run.snapshot_at(view)).items()
    }


def streams(parameters: dict[str, Tensor], reading: Reading) -> dict[str, Tensor]:
    """Return the parts whose sum the stream is in the end, by sign, [T, d] each; before layer l it
    is the sum of the first l."""
    parts = {"w_E": parameters["W_E"][reading.tokens]}
    for layer, weights in enumerate(reading.attention, 1):
        x = torch.stack(list(parts.values())).sum(0)
        mix = torch.from_numpy(weights).double() @ x  # (T, d)
        parts["o" + "¹²"[layer - 1]] = mix @ parameters[f"W_V{layer}"] @ parameters[f"W_O{layer}"]
    return parts


def _explains(
    letters: list[str], parts: dict[str, Tensor], parameters: dict[str, Tensor], layer: int
) -> Callable[[int, int], Explanation]:
    """Return the function that explains a weight of a layer by what the layer reads."""
    W_Q, W_K, R = (parameters[f"{name}{layer}"] for name in ("W_Q", "W_K", "R"))
    W_Q = W_Q / math.sqrt(len(W_Q))

    def explain(query: int, key: int) -> Explanation:
        queries = {part: stream[query] @ W_Q for part, stream in parts.items()}  # (d,) each
        keys = {part: stream @ W_K for part, stream in parts.items()}  # (T, d) each
        terms = [
            Term(
                f"{_sign(a, letters, query)} · {_sign(b, letters, key)}",
                float(queries[a] @ keys[b][key]),
                f"query's {CALLED[a]} × key's {CALLED[b]}",
            )
            for a, b in product(parts, parts)
        ]
        distance = query - key
        terms += [
            Term(
                f"{_sign(a, letters, query)} · r({distance})",
                float(queries[a] @ R[distance]),
                f"query's {CALLED[a]} × distance",
            )
            for a in parts
        ]
        whole_query = torch.stack(list(queries.values())).sum(0)  # (d,)
        whole_keys = torch.stack(list(keys.values())).sum(0)  # (T, d)
        scores = (whole_keys[: query + 1] + R[: query + 1].flip(0)) @ whole_query  # (query + 1,)
        return attended(letters, query, key, terms, scores.numpy(), SAYS)

    return explain


def _sign(part: str, letters: list[str], at: int) -> str:
    """Return a part of the stream at a position, as the terms write it."""
    return f"w_E({letters[at]})" if part == "w_E" else f"{part}({at + 1})"


def following(run: Run, view: View) -> list[Map]:
    """Return one map, what is predicted after the position shown: a row for the model and for each
    strategy."""
    reading = read(run, view)
    k = run.config.k
    at = reading.at(view)
    ids = list(reading.strategies)
    # (1 + strategies, k)
    shown = np.array(
        [reading.model[at], *(reading.strategies[name][at] for name in ids)], np.float32
    )
    parameters = _double(run, view)
    logits = {  # [k] each
        part: (stream[at] @ parameters["W_U"].T).numpy()
        for part, stream in streams(parameters, reading).items()
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
    """Explain a probability of the model by its logit."""
    labels = CALLED | (ONE_LAYER if len(logits) == 2 else {})
    terms = tuple(
        Term(f"W_U({LETTERS[state]})ᵀ {part}", float(row[state]), labels[part])
        for part, row in logits.items()
    )
    total = np.sum(list(logits.values()), axis=0)
    share, competitors = softmax([f"next {LETTERS[j]}" for j in range(len(total))], total, state)
    return Explanation(
        f"The model: {title}", MODEL, share, terms, share=share, competitors=competitors
    )


def _counted(title: str, reading: Reading, at: int, name: str, state: int, k: int) -> Explanation:
    """Explain a probability of a strategy by its counts."""
    here = reading.tokens[at]
    tokens = reading.tokens[: at + 1]
    if name == "bigram":
        tokens = [after for before, after in pairwise(tokens) if before == here]
    n = tokens.count(state)
    total = len(tokens)
    j = LETTERS[state]
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
