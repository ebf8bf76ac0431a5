"""A lemma's formula beside autograd."""

from dataclasses import replace

import pandas as pd
from torch import Tensor

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.papers.birth.shared.proof_model import TOKENS, sides
from icl_core.papers.birth.steps import lemmas
from icl_core.papers.birth.steps.gradient_steps import task_of
from icl_core.papers.birth.steps.run import CHECKED, given
from icl_core.papers.birth.steps.settings import LEMMAS, View

SAYS = {
    "1": "With characters in and characters out, the gradient is a sum of outer products, "
    "weighted by how far the prediction is from the truth: here from Shakespeare's bigrams.",
    "2": "With noisy inputs x = w_E(y) + p_t only their mean given y counts, so that the position "
    "averages out. The gradient is taken at the matrix that one step has made.",
    "4": "The keys of layer 2 at zero. What carries the answer is raised against the mean over "
    "all positions.",
    "5": "The keys of layer 1 at zero, with layer 2's softmax made linear. The position before "
    "what carries the answer is raised against the mean over all positions up to it.",
}
# the matrix whose vectors the gradient is read with
SIGNS = {
    "1": "W_O2",
    "2": "W_O2",
    "4": "W_K2",
    "5": "W_K1",
}
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def formula(run: Run, view: View) -> Panel:
    """Draw what a step along the gradient adds, by the lemma's formula and by autograd."""
    gradients, readings = _both(run, view.lemma)
    axes, (rows, columns) = _named(run, view.lemma)
    largest = readings[1].abs().max()
    by_formula, by_autograd = ((matrix / largest).numpy() for matrix in readings)
    figure = figures.triple(
        by_formula, by_autograd, None, rows, columns, "reading, largest = 1",
        titles=("formula", "autograd", "difference"), row_title=axes[0], column_title=axes[1],
    )  # fmt: skip
    where = "" if view.lemma in ("1", "2") else f" Here it is taken on {CHECKED} sequences."
    return Panel(
        f"{LEMMAS[view.lemma].split(':')[0]}: formula and autograd differ by "
        f"{power(lemmas.apart(gradients))} of the largest entry",
        f"{SAYS[view.lemma]}{where} You see minus the gradient, which is what a step adds, as "
        "readings. If the lemma were wrong, the map at the right would not be grey.",
        figure,
        data=pd.DataFrame(by_formula, index=rows, columns=columns).reset_index(names="row"),
    )


def power(value: float) -> str:
    """Return a tiny number as people write it, 3·10⁻¹²; zero as 0."""
    digits, exponent = f"{value:.0e}".split("e")
    return f"{digits}·10{str(int(exponent)).translate(SUPERSCRIPT)}" if value else "0"


def _both(run: Run, lemma: str) -> tuple[lemmas.Both, lemmas.Both]:
    """Return the lemma's gradient by formula and by autograd, and minus the readings of both."""
    inputs = given(replace(run.config, seeds=1))
    gradients = lemmas.LEMMAS[lemma](inputs)
    left, right = _vectors(inputs, lemma)

    def readings(gradient: Tensor) -> Tensor:
        # the paper's W_K has the key on the left
        G = gradient if lemma in ("1", "2") else gradient.T
        return -(left @ G @ right.T)

    by_formula, by_autograd = gradients
    return gradients, (readings(by_formula), readings(by_autograd))


def _vectors(inputs: lemmas.Given, lemma: str) -> tuple[Tensor, Tensor]:
    """Return the vectors that the gradient is read with on its left and on its right, as rows."""
    if lemma in ("1", "2"):
        return inputs.weights.W_U, inputs.weights.W_E
    return sides(SIGNS[lemma], inputs.weights, TOKENS)


def _named(run: Run, lemma: str) -> tuple[tuple[str, str], tuple[list[str], list[str]]]:
    """Return the titles of a map's rows and columns, and their labels."""
    if lemma == "5":
        places = [str(t + 1) for t in range(run.config.T)]
        return ("position of the query", "position of the key"), (places, places)
    characters = figures.visible_characters(task_of(run.config).characters)
    axes = ("query", "key, remapped by layer 1") if lemma == "4" else ("output", "input")
    return axes, (characters, characters)
