"""Toward generalizable learning of all (linear) first-order methods via memory augmented Transformers (Dutta, Sra,
2025)."""

from icl_core.experiment import Paper
from icl_core.papers.memformers.lesson import LESSON
from icl_core.papers.memformers.picture import draw

PAPER = Paper(
    name="memformers",
    title="Memformers: learned first-order methods",
    authors="Dutta, Sra",
    year=2025,
    found="Linear attention with a memory of past layers learns optimisation methods that combine past gradients.",
    introduction=(
        "A prompt holds n examples of a linear function and a query. Each layer of linear attention can take one step "
        "of gradient descent on the examples. With registers that keep what earlier layers computed, a Memformer can "
        "learn any method that combines past gradients linearly, as momentum and conjugate gradient do."
    ),
    experiments={
        "methods": 4,
        "convergence": 4,
        "speed": 1,
        "variances": 3,
        "mixture": 3,
        "learned": 4,
        "theorems": 2,
    },
    glossary=(
        ("Sigma", "Σ", "covariance of the examples, σ² Uᵀ D U"),
        ("target", "w*", "the weights that made the labels, drawn anew for every prompt from N(0, Σ⁻¹)"),
        ("S", "X Xᵀ / n", "the examples' own covariance: all that the loss of a prompt knows"),
        ("A", "A_l", "what layer l multiplies the gradient with: its preconditioner"),
        ("B", "B_l", "how layer l moves the covariates, GD++"),
        ("Gamma", "Γ_j^l", "how much layer l uses of what layer j found"),
        ("alpha, gamma", "α_l, γ_l", "step size and deflection of the CGD-like Memformer"),
        ("register", "R_l", "what a layer's attention leaves for later ones; with B = 0 a row of labels alone"),
        ("steps", "a_l = 1 / r_l", "inverse roots of the best polynomial: A_l = a_l Σ⁻¹ attains the floor"),
        ("batch", "B", "prompts in a test batch; CGD computes 2 B numbers for each iteration"),
        ("Lambda", "Λ_i^k", "coefficients of a first-order method on its past gradients, eq. 1.1"),
        ("root", "Σ^½", "turns white noise into covariates; Σ^½ A Σ^½ is A in whitened coordinates"),
        ("log-loss", "log E", "natural logarithm of the mean squared error on the query"),
        ("floor", "min_p E", "the least loss of any polynomial of degree L in the preconditioned S"),
        ("CGD", "CGD", "conjugate gradient, with its own step sizes for every prompt"),
    ),
    picture=("memformers.methods", "lfom", draw),
    highlights=(("methods", "guess"), ("methods", "ahead"), ("methods", "memory"), ("convergence", "found")),
    lesson=LESSON,
    order=2,
    mathematics=r"""
A prompt is $Z_0 = \begin{pmatrix} x_1 & \dots & x_n & x_{n+1} \\ y_1 & \dots & y_n & 0 \end{pmatrix}$ with
$y_i = \langle x_i, w^* \rangle$. A layer adds $\frac1n P Z M (Z^\top Q Z)$. With
$P = \begin{pmatrix} 0 & 0 \\ 0 & 1 \end{pmatrix}$ and $Q = -\begin{pmatrix} A_l & 0 \\ 0 & 0 \end{pmatrix}$ it takes a
step of preconditioned gradient descent (Lemma 2.1),
$$
w_{l+1} = w_l - A_l \nabla R(w_l), \qquad R(w) = \tfrac{1}{2n} \lVert X^\top (w - w^*) \rVert^2 .
$$

A register makes more of it. CGD-like (Theorem 3.1): $R_l = \mathrm{Attn}(Z_l) + \gamma_l R_{l-1}$ and
$Z_{l+1} = Z_l + \alpha_l R_l / n$. LFOM (Theorem 3.2): $Z_{l+1} = Z_l + \frac1n \sum_{j \le l} \Gamma_j^l \odot R_j$.
Both are first-order methods (eq. 1.1), $w_{k+1} = w_0 + \sum_{i \le k} \Lambda_i^k \nabla R(w_i)$.

Whatever the $\Gamma$, if all $A_l$ are multiples of one matrix then $w_L - w^* = -p(A S)\, w^*$ for a polynomial of
degree $L$ with $p(0) = 1$, and $E = \mathrm{tr}(\Sigma\, p\, \Sigma^{-1} p^\top)$ averaged over $S$: a quadratic
form in the coefficients of $p$. Its least value is the **floor**. The best $p$ has real roots $r_l$, so that a linear
transformer without any memory attains it, with $A_l = \Sigma^{-1} / r_l$.
""",
)
