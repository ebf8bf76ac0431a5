"""Toward generalizable learning of all (linear) first-order methods via memory augmented
Transformers (Dutta, Sra, 2025)."""

import datetime

from icl_core.contract.experiment import Paper
from icl_core.contract.publication import FollowUp, Publication
from icl_core.papers.memformers.lesson import LESSON
from icl_core.papers.memformers.picture import draw

PAPER = Paper(
    name="memformers",
    title="Memformers: learned first-order methods",
    authors="Dutta, Sra",
    year=2025,
    found="Linear attention with a memory of past layers learns optimisation methods that add up "
    "past gradients.",
    introduction=(
        "A prompt holds n examples of a linear function, and a query. Each layer of linear "
        "attention can take one step of gradient descent on the examples. A Memformer also has "
        "registers, which keep what earlier layers computed. So it can carry out any method that "
        "adds up past gradients with fixed weights, as momentum does. (Conjugate gradient weighs "
        "them anew for each prompt.)"
    ),
    publication=Publication(
        title="Toward generalizable learning of all (linear) first-order methods via memory "
        "augmented Transformers",
        authors=("Sanchayan Dutta", "Suvrit Sra"),
        arxiv="2410.07263",
        version=3,
        date=datetime.date(2025, 2, 1),
    ),
    follow_ups=(
        FollowUp(
            "Transformers learn to implement preconditioned gradient descent for in-context "
            "learning",
            "Ahn et al.",
            2023,
            "2306.00297",
            "What this paper builds on: the layers' matrices come near Σ⁻¹.",
            "convergence",
        ),
        FollowUp(
            "Linear Transformers are Versatile In-Context Learners",
            "Vladymyrov et al.",
            2024,
            "2402.14180",
            "Linear attention that finds momentum by itself; here registers are given for it.",
            "methods",
        ),
        FollowUp(
            "Do pretrained Transformers Learn In-Context by Gradient Descent?",
            "Shen et al.",
            2023,
            "2310.08540",
            "It doubts the step from such models to language models. Here everything is a linear "
            "model on linear tasks, and says nothing of language.",
            "theorems",
        ),
    ),
    experiments={
        "methods": 5,
        "convergence": 5,
        "speed": 2,
        "variances": 4,
        "mixture": 3,
        "learned": 5,
        "theorems": 3,
    },
    glossary=(
        ("Sigma", "Σ", "covariance of the covariates x, the same for all prompts: σ² Uᵀ D U"),
        (
            "target",
            "w*",
            "the hidden weights that made the labels, drawn anew for each prompt from N(0, Σ⁻¹)",
        ),
        (
            "S",
            "X Xᵀ / n",
            "covariance of one prompt's own examples: all that its loss depends on, beside w*",
        ),
        ("X", "covariates", "the inputs x of a prompt's examples"),
        ("cg", "CGD", "conjugate gradient, which computes the best steps anew for every prompt"),
        (
            "construction",
            "constructed, construction",
            "with numbers that theory gives, not trained",
        ),
        ("A", "Aₗ", "preconditioner: the matrix with which layer l multiplies the gradient"),
        ("B", "Bₗ", "how layer l moves the covariates (GD++)"),
        ("Gamma", "Γ_j^l", "memory: how much layer l uses of what layer j found"),
        (
            "alpha, gamma",
            "αₗ, γₗ",
            "step size of the CGD-like Memformer, and how much of the last register it keeps",
        ),
        (
            "register",
            "Rₗ",
            "what a layer's attention leaves for later layers; with B = 0 a row of labels alone",
        ),
        (
            "steps",
            "aₗ = 1 / rₗ",
            "inverse roots of the best polynomial: Aₗ = aₗ Σ⁻¹ reaches the floor",
        ),
        ("batch", "B", "prompts in a test batch; CGD computes 2 B numbers for each iteration"),
        ("Lambda", "Λ_i^k", "how much of each past gradient a first-order method uses, eq. 1.1"),
        (
            "root",
            "√Σ, whitened",
            "turns white noise into covariates; √Σ A √Σ is A in whitened coordinates, where all "
            "directions vary alike",
        ),
        (
            "log-loss",
            "log-loss, log E",
            "natural logarithm of the mean squared error on the query: one less is an error 2.7 "
            "times smaller",
        ),
        (
            "floor",
            "min_p E",
            "the least error of fixed steps with one matrix: of any polynomial of degree L in A S",
        ),
        ("CGD", "CGD", "conjugate gradient, with its own step sizes for every prompt"),
    ),
    picture=("memformers.methods", "lfom", draw),
    highlights=(
        ("methods", "guess"),
        ("methods", "ahead"),
        ("methods", "memory"),
        ("convergence", "found"),
    ),
    bridge="Can a model also compute with what it reads?",
    lessons=(LESSON,),
    learners="learners",
    order=2,
    mathematics=r"""
A prompt is $Z_0 = \begin{pmatrix} x_1 & \dots & x_n & x_{n+1} \\ y_1 & \dots & y_n & 0
\end{pmatrix}$ with $y_i = \langle x_i, w^* \rangle$. A layer adds $\frac1n P Z M (Z^\top Q Z)$.
With $P = \begin{pmatrix} 0 & 0 \\ 0 & 1 \end{pmatrix}$ and $Q = -\begin{pmatrix} A_l & 0 \\ 0 & 0
\end{pmatrix}$ it takes a step of preconditioned gradient descent (Lemma 2.1),
$$
w_{l+1} = w_l - A_l \nabla R(w_l), \qquad R(w) = \tfrac{1}{2n} \lVert X^\top (w - w^*) \rVert^2 .
$$

Registers add memory. CGD-like (Theorem 3.1): $R_l = \mathrm{Attn}(Z_l) + \gamma_l R_{l-1}$ and
$Z_{l+1} = Z_l + \alpha_l R_l / n$. LFOM (Theorem 3.2): $Z_{l+1} = Z_l + \frac1n \sum_{j \le l}
\Gamma_j^l \odot R_j$. Both are first-order methods (eq. 1.1), $w_{k+1} = w_0 + \sum_{i \le k}
\Lambda_i^k \nabla R(w_i)$.

For any numbers $\Gamma_j^l$, one for a pair of layers, if all $A_l$ are multiples of one matrix,
then $w_L - w^* = -p(A S)\, w^*$ for a polynomial of degree $L$ with $p(0) = 1$, and $E =
\mathrm{tr}(\Sigma\, p\, \Sigma^{-1} p^\top)$ averaged over $S$: a quadratic form in the
coefficients of $p$. Its least value is the **floor**. The best $p$ has real roots $r_l$: a linear
transformer without any memory reaches the floor, with $A_l = \Sigma^{-1} / r_l$. (Noise in the
labels can make roots complex: then only memory reaches the floor.)
""",
)
