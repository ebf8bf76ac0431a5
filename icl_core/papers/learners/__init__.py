"""One prompt, every learner: what the papers' models learn to do, beside all that can be written
down."""

from icl_core.contract.experiment import Paper
from icl_core.papers.learners.lesson import LESSON
from icl_core.papers.learners.picture import draw

PAPER = Paper(
    name="learners",
    title="Learners: one prompt, every rule",
    authors="Across the papers",
    year=2026,
    found="Rules that look alike on average part ways on a single prompt, and each shows by what "
    "it does to a prompt which one it is.",
    introduction=(
        "The models of these papers learn the same thing: linear regression from the examples in "
        "a prompt. Here one prompt is read pair by pair by everything that can be written down "
        "for it: gradient descent and faster methods, least squares and Bayes, and the rules by "
        "which recurrent layers change their state. Each is tuned by one rule, for one "
        "distribution of prompts, its home, and measured by one ruler."
    ),
    experiments={"prompt": 2, "trained": 2, "rotation": 1, "diversity": 1, "memory": 2},
    glossary=(
        ("home", "home", "the distribution of prompts for which every rule is tuned"),
        ("w", "ŵ", "a learner's weights: it answers a query x by ⟨ŵ, x⟩"),
        ("S", "S", "1/n ∑ x xᵀ over the pairs read, n the length of home's prompts"),
        ("b", "b", "1/n ∑ y x; at ŵ = 0 it is minus the gradient of the loss"),
        ("sigma", "Σ", "the covariance of x"),
        ("noise", "τ", "the standard deviation of the noise in the labels"),
        ("share", "share left", "the error over that of predicting zero"),
        (
            "filter",
            "filter",
            "what is left of w* in ŵ along an eigenvector of S, against its eigenvalue λ",
        ),
        ("bayes", "Bayes", "the mean of w* given the pairs and home's distribution"),
        ("cg", "CG", "conjugate gradient: it chooses its steps for every prompt anew"),
        (
            "implied",
            "implied weights",
            "the derivative of a learner's answer by the query: the ŵ that it has found, whatever "
            "is inside it",
        ),
        (
            "bend",
            "bend",
            "how far an answer is from linear in the query: the root mean square of f(x) − ⟨J, x⟩ "
            "over that of f(x)",
        ),
        (
            "attention",
            "attention, w_xx … w_yy",
            "linear attention on all of a token (x, y): what it adds to x and to y, from x and y",
        ),
        ("right r", "ridge, right r", "ridge that knows the noise of every prompt: r = τ²/n"),
        ("state", "state", "the matrix that a recurrent layer keeps instead of the pairs"),
    ),
    picture=("learners.prompt", "two", draw),
    highlights=(("prompt", "nearest"), ("prompt", "end")),
    bridge="Now all that can be written down reads one prompt.",
    lessons=(LESSON,),
    order=4,
    mathematics=r"""
A prompt holds $n$ pairs with $y_t = \langle w^*, x_t \rangle + \tau \varepsilon_t$ and
$x_t \sim N(0, \Sigma)$. The error of weights $\hat w$ is that of a fresh label without its noise,
$$
E(\hat w) = (\hat w - w^*)^\top \Sigma\, (\hat w - w^*), \qquad
\text{share left} = E(\hat w) \,/\, \mathbb E \langle w^*, x \rangle^2 .
$$
For a learner that is linear in the labels, $\hat w = M w^* + V \varepsilon$, its mean over $w^*$
and noise is exact for every prompt: $\operatorname{tr} \Sigma (M - I) C (M - I)^\top + \tau^2
\operatorname{tr} \Sigma V V^\top$ with $w^* \sim N(0, C)$. Every setting is the one with the
least mean of it over 1,000 prompts.

**One step** of gradient descent, $\hat w = \eta\, b$ with $b = S w^*$, leaves at its best rate
$1 - n / (n + d + 1)$ for isotropic prompts without noise, since
$\mathbb E \operatorname{tr} S = d$ and $\mathbb E \operatorname{tr} S^2 = d\,(n + d + 1) / n$.

**Filters.** With $S = \sum_i \lambda_i v_i v_i^\top$ a method with fixed coefficients has
$\hat w = \sum_i f(\lambda_i) \langle v_i, w^* \rangle v_i$: $f = 1 - (1 - \eta \lambda)^L$ for $L$
steps of gradient descent, $\lambda / (\lambda + r)$ for ridge. Conjugate gradient has the
polynomial of degree $L$ that is best for the prompt, and from $L = d$ on $f = 1$ at every
eigenvalue.

**Bayes** is ridge with $r = \tau^2 / n$ where $w^* \sim N(0, I)$.
""",
)
