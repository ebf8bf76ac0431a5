"""State-space models can learn in-context by gradient descent (Sushma et al., 2024): GD-SSM."""

import datetime

from icl_core.contract.experiment import Paper
from icl_core.contract.publication import FollowUp, Publication
from icl_core.papers.gdssm.lesson import LESSON
from icl_core.papers.gdssm.picture import draw

PAPER = Paper(
    name="gdssm",
    title="GD-SSM: a state that accumulates a gradient",
    authors="Sushma, Tian, Mestha, Colombo, Kappel, Subramoney",
    year=2024,
    found="One state-space layer that may multiply tokens with each other learns to take a step "
    "of gradient descent.",
    introduction=(
        "A prompt holds N examples (x, y) of a linear function, and a query x. A recurrent layer "
        "reads them one after the other and adds y xᵀ, the table of all products of an entry of y "
        "with an entry of x, to its state. Up to its sign, that sum is the gradient of a linear "
        "model's loss. Multiplied with the query, it is one step of "
        "gradient descent, taken in one pass and without keeping the examples. Trained from "
        "random weights, the layer finds this step: its loss comes within 0.1% of it. (Version 3 "
        "of the paper calls the layer GRIL.)"
    ),
    publication=Publication(
        title="State-space models can learn in-context by gradient descent",
        authors=(
            "Neeraj Mohan Sushma",
            "Yudou Tian",
            "Harshvardhan Mestha",
            "Nicolo Colombo",
            "David Kappel",
            "Anand Subramoney",
        ),
        arxiv="2410.11687",
        version=1,
        date=datetime.date(2024, 10, 15),
        later="Version 3 of 15 June 2026 is called “Learning in the Recurrent State: Gradient "
        "Descent with Linear Recurrent Networks”, and the layer GRIL. New there and not run here: "
        "the Long Range Arena, language modelling. Its classification with the cross-entropy is "
        "run in a way of our own, under “Classes”.",
    ),
    follow_ups=(
        FollowUp(
            "Is Mamba Capable of In-Context Learning?",
            "Grazzi et al.",
            2024,
            "2402.03170",
            "Mamba beside the paper's layer, on its tasks.",
            "comparison",
        ),
        FollowUp(
            "Can Mamba Learn How to Learn? A Comparative Study on In-Context Learning Tasks",
            "Park et al.",
            2024,
            "2402.04248",
            "What each model learns at which width.",
            "learns",
        ),
        FollowUp(
            "Trained Mamba Emulates Online Gradient Descent in In-Context Linear Regression",
            "Jiang et al.",
            2025,
            "2509.23779",
            "It holds of Mamba too that it takes gradient steps; here Mamba comes near one step "
            "where the products are given.",
            "comparison",
        ),
        FollowUp(
            "Do pretrained Transformers Learn In-Context by Gradient Descent?",
            "Shen et al.",
            2023,
            "2310.08540",
            "It doubts the step from such tasks to language models, of which nothing is run here.",
            "layer",
        ),
    ),
    experiments={
        "layer": 3,
        "sizes": 3,
        "nonlinear": 3,
        "comparison": 5,
        "plateau": 1,
        "learns": 1,
        "corrections": 2,
        "ingredients": 1,
        "classes": 1,
        "states": 1,
    },
    glossary=(
        (
            "C",
            "C_t",
            "the window [x_t, y_t, x_{t+1}], what the layer sees of the sequence at once, f × 3",
        ),
        (
            "constructed",
            "constructed, construction",
            "with weights that are written down so that the layer takes exactly one step of "
            "gradient descent, not trained",
        ),
        ("c", "c_t", "the 1-D layer's token [x_t y_t, x_{t+1}], with the product already made"),
        ("Z", "Z_t", "the state: becomes ∑ y xᵀ, which is minus N times the gradient at zero"),
        (
            "Z_tilde",
            "Z̃_t",
            "the second head's state from layer 2 on: becomes ∑ x xᵀ, the curvature",
        ),
        (
            "a, a_tilde",
            "decay A",
            "the recurrence's decays: one number, one for each row or one for each entry; 1 "
            "forgets nothing",
        ),
        (
            "Q, q",
            "Q, q",
            "which products of the window enter the state, and which part of it reads the state",
        ),
        ("q", "D, skip weights", "what the authors' code and Figure 3 C call q"),
        ("skip", "C_t skip", "a short cut of ours, added to the output; not in the paper"),
        (
            "Psi, Theta",
            "Ψ, Θ",
            "the same for the 1-D layer: what enters the state, and what reads it",
        ),
        ("beta, b", "β, η/N", "learning rate over the number of examples"),
        ("M", "Wᵀ", "the implicit linear model that the layers improve, M_0 = 0"),
        ("sum", "∑", "the sum over the examples of a prompt"),
        ("L*", "L*", "the best loss of one step, in closed form"),
        ("A, B", "A G x − B G S x", "what two steps predict, with G = ∑ y xᵀ and S = ∑ x xᵀ"),
        ("alpha", "α", "test scale: x is α times as large as in training"),
        ("sensitivity", "∂ŷ/∂x", "derivative of the prediction with respect to the query"),
        ("kappa", "κ", "E x⁴ / (E x²)², 1.8 for a uniform x"),
        (
            "state-space model",
            "SSM",
            "a recurrent layer whose state changes linearly: it keeps a share of the state and "
            "adds something of the new token",
        ),
        (
            "one step",
            "one step of GD",
            "one step of gradient descent from W = 0 on the examples of the prompt, at the rate "
            "that is best over all tasks",
        ),
        (
            "s5",
            "S5",
            "a state-space model whose state changes by fixed numbers; it multiplies only behind "
            "its state",
        ),
        (
            "mamba",
            "Mamba",
            "a state-space model in which the token decides what is kept, added and read",
        ),
        (
            "griffin",
            "Griffin",
            "two blocks with a gated recurrence, then one with attention to the latest tokens",
        ),
        (
            "gated_delta",
            "gated delta network",
            "a recurrent layer that replaces what its state holds under a key, and forgets by a "
            "gate; not in the paper",
        ),
        (
            "linear, softmax",
            "linear TF, softmax TF",
            "transformers: each token weighs all earlier ones by products of keys and queries, as "
            "they are (linear) or made positive with sum 1 (softmax; not in the paper)",
        ),
        (
            "norm",
            "norm",
            "divides a token's numbers by their size before a block reads them",
        ),
        (
            "residual",
            "residual",
            "what a block puts out is added to what it has read",
        ),
        (
            "delta",
            "delta rule",
            "adds to the state the error that it still makes, (y − W x) xᵀ, and not y xᵀ",
        ),
        ("key", "key, value, query", "what a pair is stored under, what is stored, what reads it"),
        (
            "unit",
            "unit keys",
            "the rate is divided by |x|², so that a rate of 1 corrects a pair in full",
        ),
        (
            "implicit",
            "implicit step",
            "the step to the minimum of |W − W_before|² + β |y − W x|²; Longhorn's",
        ),
        ("squares", "least squares", "W = ∑ y xᵀ (∑ x xᵀ + λ I)⁻¹, from two matrices"),
        ("gate", "gate", "a decay of the state that a model may learn or compute from its tokens"),
        ("rho", "ρ, drift", "after every pair W keeps √(1 − ρ²) of itself, plus ρ fresh numbers"),
        ("gain", "gain", "a factor on the prediction"),
        (
            "batch size",
            "batch size, b",
            "how many pairs share one gradient before the state changes",
        ),
        ("Kalman", "Kalman filter", "the best estimate of a W that drifts by a known ρ"),
    ),
    picture=("gdssm.layer", "layer", draw),
    tour=(
        "layer",
        "sizes",
        "ingredients",
        "corrections",
        "nonlinear",
        "comparison",
        "plateau",
        "learns",
        "states",
        "classes",
    ),
    highlights=(
        ("layer", "before"),
        ("layer", "becomes"),
        ("layer", "scale"),
        ("comparison", "who"),
        ("comparison", "close"),
    ),
    bridge="This model reads once and keeps one table of numbers, its state.",
    lessons=(LESSON,),
    learners="learners",
    order=3,
    mathematics=r"""
The loss of a linear model $M$ on the examples is $\frac{1}{2N} \sum_n \lVert M x_n - y_n \rVert^2$.
Its gradient at $M = 0$ is $-\frac1N \sum_n y_n x_n^\top$, so that a step of rate $\eta$ predicts
$$
\hat y = \tfrac{\eta}{N} \Big( \sum_n y_n x_n^\top \Big) x_{N+1} .
$$
For the examples $(0.2, 0.4)$ and $(-0.5, -1)$ the sum is $0.4 \cdot 0.2 + (-1)(-0.5) = 0.58$; the
prediction at $0.3$ is $\frac{\eta}{2} \cdot 0.58 \cdot 0.3$.

The layer (Section 3.2) reads windows $C_t = [x_t, y_t, x_{t+1}]$:
$$
Z_t = A * Z_{t-1} + C_t Q C_t^\top , \qquad o_t = \beta\, Z_t C_t q .
$$
With $A = 1$, $Q = e_2 e_1^\top$, $q = e_3$ and $\beta = +\eta / N$ it is that step. (The paper
prints $e_1 e_2^\top$ and the other sign: see "The formulas as printed".)

**Floor.** For $x \sim U(-r, r)^f$ with variance $\sigma^2 = r^2 / 3$ and $\kappa = 1.8$ the best
step has
$$
\beta^* = \frac{1}{\sigma^2 (N - 2 + \kappa + f)} , \qquad
L^* = \frac{f \sigma^2}{2} \Big( 1 - \frac{N}{N - 2 + \kappa + f} \Big) .
$$
At a test scale with variance $s^2$ the same step costs $\frac{f s^2}{2} \big[ 1 - 2 \beta N s^2 +
\beta^2 N s^4 (N - 2 + \kappa + f) \big]$. Beyond $\alpha = \sqrt 2$ this is more than predicting
zero.

**Training.** The paper trains for up to 300,000 steps on 64 tasks each, at rates of $10^{-4}$ for
the recurrence and twice that for the rest. For scalar labels it has AdamW, a warm-up and a weight
decay of 0.05 (Appendix A.5); for vector labels Appendix A.6 names Adam, and neither of the two.
Here the batches are larger, Adam has no decay, its rate is larger and falls to zero along a cosine,
and the initial weights are small. This finds the same weights, at the paper's size $f = N = 10$, in
some hundred steps.

**A linear transformer** of one layer takes the step too, where the tokens $c_t = [x_t y_t,
x_{t+1}]$ hold the products: with keys $x_t y_t$, queries $x_{t+1}$ and a value $\eta / N$ that it
reads from the position vectors, the last token attends with
$$
\sum_t \tfrac{\eta}{N} \; (x_t y_t) \cdot x_{N+1} .
$$
It needs a width of $2f + 2$: the token, the constant, and a direction for the answer that holds
nothing else.

**Symmetries.** $Q \to cQ$, $q \to q/d$, $\beta \to \beta d / c$ leave the layer as it is; in the
1-D layer so do $\Psi \to G \Psi$, $\Theta \to G^{-\top} \Theta$ for any invertible $G$.

**Two layers** compute $M_2 = M_1 - b_2 (M_1 \tilde Z - Z)$, that is $\hat y = A\, G x - B\, G S x$
with $A = b_1 + b_2$ and $B = b_1 b_2$. One shared rate binds them to $B = A^2 / 4$; training does
not.

**Other rules.** A state may correct what it holds: $W \leftarrow W + b\,(y - W x)\,x^\top$ (the
delta rule). Each pair multiplies what is left of $W$ by $I - b\,x x^\top$, and
$E (I - b\,x x^\top)^2 = (1 - 2 b \sigma^2 + b^2 \sigma^4 (f - 1 + \kappa))\,I$. At its best rate it
leaves $\big(1 - \tfrac{1}{f - 1 + \kappa}\big)^N$ of the loss of predicting zero; with $b / |x|^2$
for $b$ it leaves $(1 - \tfrac1f)^N$.

**Scalar labels.** The 1-D layer (Section 3.1) reads tokens $[x_t y_t, x_{t+1}]$ and is one step. It
cannot be followed by a second: the tokens hold $x_1$ only as $x_1 y_1$, so $(c\,x_1, y_1 / c)$
gives the same tokens and another $S$. Two layers read windows of $x, y, x, y, \ldots$ with $y$ as
$[0, \ldots, 0, y]$ (Sections 3.1 and 4.3).
""",
)
