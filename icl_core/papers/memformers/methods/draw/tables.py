"""The trained model as a table: what it makes of each past gradient, beside other methods on one
scale, and how each number is made; or Γ for each token, where memory is no triangle of numbers
(Figures 3, 4, 15 and 16)."""

from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.explanation import PRODUCT, SUM, Explanation, Map, Term
from icl_core.contract.figure import Figure
from icl_core.papers.memformers.methods import decode
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.methods.words import WORDS
from icl_core.papers.memformers.shared import load_run, variants
from icl_core.papers.memformers.shared.draw.losses import fitted, written
from icl_core.papers.memformers.shared.load_run import depth_of, parameters_at, root_of
from icl_core.papers.memformers.shared.variants import VARIANTS

WRITTEN = 6  # layers up to which the numbers are written
HELD = 0.9  # a table that holds less of the matrices than this share says little of where they end
BESIDE = (decode.BUILT, decode.PRE, decode.CGD, "gradient descent")
SHARED = (
    "Γ weighs the gradient at iterate {j}, which layer {layer} multiplies with A; a says how "
    "much of Σ⁻¹."
)
OWN = (
    "A mean over the coordinates, each of which has a step of its own along the gradient at "
    "iterate {j}."
)


def learned(run: Run, view: View) -> Panel:
    """Draw the trained model's coefficients on past gradients."""
    snapshot = run.snapshot_at(view)
    table, _ = decode.learned_in(run, view.seed_shown, depth_of(run, view), snapshot)
    return WORDS.panel("learned", run, view, _triangle(run, view, table))


def preconditioned(run: Run, view: View) -> Panel:
    """Draw conjugate gradient's coefficients on past gradients, given Σ⁻¹."""
    table = decode.references(run, depth_of(run, view))[decode.PRE]
    return WORDS.panel("preconditioned", run, view, _triangle(run, view, table))


def _triangle(run: Run, view: View, table: np.ndarray) -> Figure:
    """Return a table's lower triangle, on the scale of the finished model and CGD's."""
    depth = depth_of(run, view)
    final, _ = decode.learned_in(run, view.seed_shown, depth, len(run.snapshot_steps) - 1)
    # a run in training has no references yet
    references = [decode.references(run, depth)[decode.PRE]] if run.finished else []
    limit = figures.largest_magnitude(final, *references)
    after, past = ([str(layer + first) for layer in range(depth)] for first in (1, 0))
    triangle = np.where(np.tri(depth, dtype=bool), table, np.nan)
    titles = ("after layer", "gradient at iterate")
    figure = figures.small_map(triangle, (after, past), titles, "Λ", limit)
    if depth <= WRITTEN:
        texts = [[written(x) if np.isfinite(x) else "" for x in row] for row in triangle]
        figure.data[0].update(text=texts, texttemplate="%{text}", textfont={"size": 14})
        return figure.update_layout(coloraxis={"showscale": False}, margin={"r": 12})
    return figure


def explained(run: Run, view: View) -> list[Map]:
    """Return the triangle of the trained model's coefficients Λ, each with how it is made."""
    depth = depth_of(run, view)
    table, _ = decode.learned_in(run, view.seed_shown, depth, run.snapshot_at(view))
    parameters = parameters_at(run, view.seed_shown, depth, run.snapshot_at(view))
    root = root_of(run, view.seed_shown)
    references = decode.references(run, depth)
    after, past = ([str(layer + first) for layer in range(depth)] for first in (1, 0))

    def explain(row: int, column: int) -> Explanation:
        terms, joined = terms_of(parameters, run.config, root, row, column)
        sentence = (OWN if joined == SUM else SHARED).format(j=column, layer=column + 1)
        beside = [Term(name, float(references[name][row, column])) for name in BESIDE]
        title = f"Λ after layer {row + 1}, of the gradient at iterate {column}"
        finite = tuple(term for term in beside if np.isfinite(term.value))
        return Explanation(title, sentence, float(table[row, column]), terms, joined, beside=finite)

    triangle = np.where(np.tri(depth, dtype=bool), table, np.nan).astype(np.float32)
    titles = ("after layer", "gradient at iterate")
    return [Map("Learned coefficients Λ", triangle, titles, after, past, explain)]


def terms_of(
    parameters: variants.Parameters, config: Any, root: Tensor, row: int, column: int
) -> tuple[tuple[Term, ...], str]:
    """Return the terms that make a coefficient, and how they are joined: Γ times the layer's
    multiple of Σ⁻¹; or, where coordinates differ, a sum over them."""
    Gamma = variants.coefficients(parameters, config.variant)
    if Gamma.dim() == 3:  # a number for each pair of layers
        A = variants.preconditioners(parameters, config, root)[0, column].double()
        weight = float(Gamma[0, row, column])
        multiple = float(A.trace()) / len(A)
        return (
            Term(f"Γ of iterate {column} in layer {row + 1}", weight, "what memory weighs it"),
            Term(f"a of layer {column + 1}", multiple, "its multiple of Σ⁻¹"),
        ), PRODUCT
    W = variants.steps(parameters, config, root)[0, row, column].double()
    shares = (W.diagonal() / len(W)).tolist()
    return tuple(
        Term(f"coordinate {k + 1}", share, "its share of the mean")
        for k, share in enumerate(shares)
    ), SUM


def optimiser_panel(run: Run, view: View) -> Panel:
    """Draw Λ of the trained model beside those of gradient descent, momentum, Nesterov, CGD and the
    construction."""
    depth = depth_of(run, view)
    snapshot = run.snapshot_at(view)
    trained, share = decode.learned_in(run, view.seed_shown, depth, snapshot)
    last, _ = decode.learned_in(run, view.seed_shown, depth, len(run.snapshot_steps) - 1)
    tables = {"trained": trained, **decode.references(run, depth)}
    triangles = {name: _lower(table, view) for name, table in tables.items()}
    after, past = ([str(layer + first) for layer in range(depth)] for first in (1, 0))
    figure = figures.maps(
        list(triangles),
        list(triangles.values()),
        after,
        past,
        "Λ, as a share of Σ⁻¹ ∇R",
        row_title="after layer",
        column_title="past gradient",
        limit=figures.largest_magnitude(*triangles.values(), _lower(last, view)),
        written=depth <= WRITTEN,
    )
    own = decode.equivalent(trained)
    return WORDS.panel(
        "optimiser",
        run,
        view,
        figure,
        data=_table(triangles),
        model=VARIANTS[run.config.variant].name,
        layers_shown=depth,
        own=float(trained[0, 0]),
        cg=tables[decode.CGD][0, 0],
        cg_memory=decode.memory(tables[decode.CGD]),
        summed=view.unit == "sum",
        whole=share > 0.995,
        share=share,
        equivalent=_equivalent(own, decode.built(run, depth)) if share > HELD else "",
    )


def _lower(table: np.ndarray, view: View) -> np.ndarray:
    """Return the lower triangle of a table, per step or summed up; blank above it."""
    values = np.cumsum(table, axis=0) if view.unit == "sum" else table
    return np.where(np.tri(len(table), dtype=bool), values, np.nan)


def _equivalent(own: np.ndarray, best: np.ndarray) -> str:
    """Return what is said of the steps of the linear transformer that does the same, beside the
    best ones; nothing where there are none."""
    if not np.isfinite(own).all():
        return ""
    if np.iscomplexobj(own):
        return WORDS.text("no equivalent")
    known = bool(np.isfinite(best).all())
    steps, best_steps = (" ".join(map(written, values.tolist())) for values in (own, best))
    return WORDS.text("equivalent", steps=steps, known=known, best=best_steps)


def _table(triangles: decode.Tables) -> pd.DataFrame:
    rows = []
    for name, table in triangles.items():
        for layer, j in zip(*np.tril_indices(len(table)), strict=True):
            coefficient = round(float(table[layer, j]), 5)
            row = {"method": name, "after layer": layer + 1, "gradient": j}
            rows.append(row | {"coefficient": coefficient})
    return pd.DataFrame(rows)


def has_tokens(config: Any) -> bool:
    """Return whether every token has numbers of its own in Γ."""
    return VARIANTS[config.variant].needs_examples


def weights(run: Run, seed: int, depth: int, snapshot: int) -> tuple[np.ndarray, list[str]]:
    """Return what each token's label in a register is multiplied by, [rows, n + 1], and the names
    of the rows. The last column is the query's; a number that no prediction depends on is NaN.

    Where all layers share Γ_j a row is a register j, else a pair of a layer l and a register j
    that it reads, "l ← j". Of a Γ per entry of Z it is the row of the labels; there a layer uses
    all of its own attention, so that the last register has no number.
    """
    variant = VARIANTS[run.config.variant]
    parameters = load_run.parameters_at(run, seed, depth, snapshot)
    Gamma = variants.coefficients(parameters, variant.id)[0]  # [L, L, …] over (l, j)
    if variant.per == "entry":
        table = Gamma[-1, : max(1, depth - 1), -1].numpy()
    elif variant.shared:
        table = Gamma[-1].numpy()
    else:
        layers, registers = np.tril_indices(depth)
        table = Gamma.numpy()[layers, registers]
        table[layers == depth - 1, :-1] = np.nan  # after the last layer the query alone is read
        return table, [f"{layer + 1} ← {j + 1}" for layer, j in zip(layers, registers, strict=True)]
    table[-1, :-1] = np.nan  # only the last layer reads this register
    return table, [str(row + 1) for row in range(len(table))]


def spread(table: np.ndarray) -> tuple[float, float]:
    """Return of weights [rows, n + 1] how far the examples are from their row's mean, and how far
    the query is from it, each as a share of the size of those means. Rows without examples are
    left out; NaN where no row is left or all means are 0."""
    rows = table[np.isfinite(table).all(1)]
    means = rows[:, :-1].mean(1, keepdims=True)  # [rows, 1]
    size = float(np.sqrt(np.square(means).sum()))
    if not size:
        return np.nan, np.nan
    differences = rows - means
    examples = float(np.sqrt(np.square(differences[:, :-1]).mean(1).sum()))
    query = float(np.sqrt(np.square(differences[:, -1]).sum()))
    return examples / size, query / size


def tokens(run: Run, view: View) -> Panel:
    """Draw Γ token by token, for every register that is read."""
    depth = load_run.depth_of(run, view)
    table, rows = weights(run, view.seed_shown, depth, run.snapshot_at(view))
    finished, _ = weights(run, view.seed_shown, depth, len(run.snapshot_steps) - 1)
    tokens = [*(str(token + 1) for token in range(run.config.n)), "q"]
    limit = figures.largest_magnitude(finished)
    variant = VARIANTS[run.config.variant]
    titles = ("register of layer" if variant.shared else "layer ← register", "token")
    figure = figures.small_map(table, (rows, tokens), titles, "Γ", limit)
    figure.update_yaxes(scaleanchor=None)  # few rows fill the seat
    if len(figure.data[0]["x"]) == len(tokens):  # no means over blocks of tokens
        ticks = [*range(4, run.config.n, 5), run.config.n]
        figure.update_xaxes(tickvals=ticks, ticktext=[tokens[index] for index in ticks])
    data = pd.DataFrame(table.round(5), columns=tokens)
    data.insert(0, titles[0], rows)
    examples, query = spread(table)
    return WORDS.panel(
        "tokens",
        run,
        view,
        fitted(figure, figures.WIDE),
        data=data,
        used=np.isfinite(examples),
        examples=examples,
        query=query,
        per_entry=variant.per == "entry",
        shared=variant.shared,
    )
