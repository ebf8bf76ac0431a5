"""What each architecture has to multiply, and where it can: the story behind the losses, as a
table."""

from typing import Any

import pandas as pd

from icl_core.contract.experiment import Panel, Run
from icl_core.papers.gdssm.comparison.load_run import entries
from icl_core.papers.gdssm.comparison.settings import Config
from icl_core.papers.gdssm.shared.sequence_models.training_end import levels

# By the model's id, or its beginning: where y_t meets x_t, and where their product meets the query.
# As its authors build it; below what the plain form has instead.
WHERE = {
    "gd-ssm": ("in the window: C Q Cᵀ", "at the output: Z C q"),
    "s5": (
        "nowhere on the way into the state",
        "in the gate, which must make all products at once",
    ),
    "mamba": (
        "convolution, then Δ x Bᵀ: the input chooses what is written",
        "C, which reads the state, and the gate",
    ),
    "griffin": (
        "convolution, then the input gate; window of attention",
        "the output gate; feed-forward layers",
    ),
    "gated-delta": (
        "convolution, then v kᵀ written to the state",
        "the query: S q; feed-forward layer",
    ),
    "linear-1": ("nowhere: keys and values see one token each", "attention: (k · q) v"),
    "linear-2": ("layer 1 brings x_t and y_t to one place", "attention of layer 2: (k · q) v"),
    "softmax-1": ("nowhere: keys and values see one token each", "attention, bent by its softmax"),
    "softmax-2": (
        "layer 1 brings x_t and y_t to one place",
        "attention of layer 2, bent by its softmax",
    ),
}
PLAIN = {
    "griffin": ("convolution, then the input gate; window of attention", "the output gate"),
    "gated-delta": ("in the state, whose content meets the next key: S k kᵀ", "the query: S q"),
}
GIVEN = "given by the token"
SCALAR = {  # where their products with the query are made, if the token gives them
    "gd-ssm": "at the output: zᵀ Θ c",
    "linear-2": "attention: (k · q) v",
    "softmax-2": "attention, bent by its softmax",
}


def products_panel(run: Run, view: Any) -> Panel:
    """Tabulate a row a model: where it makes the products of tokens, and what it ended at."""
    has_products = run.config.model == "1-D"
    one = levels(run)[1]
    rows = [
        (entry.model.label, *_where(run.config, entry.model.id), entry.loss / one)
        for entry in entries(run)
    ]
    table = pd.DataFrame(
        {
            "model": [label for label, *_ in rows],
            "y times x": [first for _, first, _, _ in rows],
            "that times the query": [second for _, _, second, _ in rows],
            "loss over one step": [f"{ratio:.2f}" if ratio < 100 else "–" for *_, ratio in rows],
        }
    )
    return Panel(
        "One product to make: what is given with the query"
        if has_products
        else "Two products to make: y with x, and that with the query",
        "One step predicts (η/N) ∑ y_t (x_t · query). Any recurrence can keep a sum over tokens. "
        "The products need a place in the architecture: a gate, attention, or tokens that hold "
        "them already. A model with no place for a product must imitate it by a function that "
        "bends: GELU, sigmoid, softmax.",
        table=table,
    )


def _where(config: Config, id: str) -> tuple[str, str]:
    """Return the two places of a model; dashes for one that is not told of here."""
    first, second = _of(WHERE | (PLAIN if config.plain else {}), id) or ("–", "–")
    return (GIVEN, _of(SCALAR, id) or second) if config.model == "1-D" else (first, second)


def _of(table: dict[str, Any], id: str) -> Any:
    """Return a model's row of a table by ids or their beginnings, None if it has none."""
    return next((row for name, row in table.items() if id.startswith(name)), None)
