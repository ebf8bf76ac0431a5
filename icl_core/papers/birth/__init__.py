"""Birth of a Transformer: A Memory Viewpoint (Bietti, Cabannes, Bouchacourt, Jégou,
Bottou, 2023)."""

import datetime

from icl_core.contract.experiment import Paper
from icl_core.contract.publication import FollowUp, Publication
from icl_core.papers.birth import lesson, pretrained_lesson
from icl_core.papers.birth.picture import OPENING, draw

PAPER = Paper(
    name="birth",
    title="Birth of a Transformer: A Memory Viewpoint",
    authors="Bietti, Cabannes, Bouchacourt, Jégou, Bottou",
    year=2023,
    found="To continue “ab…a” with “b”, a transformer needs three memories, and each of them is "
    "one matrix.",
    introduction=(
        "Some characters of each sequence are triggers. What follows a trigger is drawn anew for "
        "every sequence, so only its earlier occurrence can tell. A transformer of two layers "
        "solves this with an induction head: it looks for the earlier occurrence and repeats what "
        "followed there. Three of its matrices turn out to be associative memories, sums of outer "
        "products that you can read pair by pair."
    ),
    experiments={
        "induction": 3,
        "constructed": 3,
        "data": 1,
        "dimension": 2,
        "steps": 1,
        "laboratory": 1,
        "transformer": 2,
        "counting": 1,
        "length": 1,
        "pretrained": 1,
    },
    glossary=(
        (
            "W_E",
            "w_E(k)",
            "embedding of character k; random and frozen, but trained in the full transformer",
        ),
        (
            "P",
            "p_t",
            "embedding of position t; random and frozen, but trained in the full transformer",
        ),
        (
            "W_U",
            "w_U(k)",
            "unembedding of character k; random and frozen, but trained in the full transformer",
        ),
        (
            "R1",
            "W_O¹ W_V¹",
            "what layer 1 makes of the character it attends to; "
            "random and frozen, but trained in the full transformer",
        ),
        (
            "V2",
            "W_V²",
            "values of layer 2; random and frozen, but trained in the full transformer",
        ),
        ("W_K1", "W_K¹", "keys of layer 1: learns to match a position with the one before it"),
        (
            "W_K2",
            "W_K²",
            "keys of layer 2: learns to match a trigger with its copy made by layer 1",
        ),
        ("W_O2", "W_O²", "output of layer 2: learns to say the character attended to"),
        ("W_F", "W_F", "linear feed-forward layer: learns which character often follows which"),
        ("K", "K", "number of triggers in a sequence"),
        (
            "loss",
            "nats",
            "unit of a loss in natural logarithms: 0 if the right character is certain, ln N for a "
            "uniform guess",
        ),
        (
            "stream",
            "residual stream",
            "the vector that each position carries from layer to layer; every layer reads it "
            "and adds to it",
        ),
        (
            "talk",
            "cross-talk",
            "what a memory answers to vectors that it is not asked for, because random vectors "
            "are not quite orthogonal",
        ),
        (
            "constructed",
            "constructed, construction",
            "with matrices that are written down by a formula, not trained",
        ),
        (
            "unigram, bigram",
            "π_u, π_b",
            "how often a character occurs, and how often one follows another",
        ),
        (
            "head",
            "head 1.1, head 2.3",
            "layer.head: one of a layer's attention maps, with values of its own",
        ),
        (
            "W_Q",
            "W_Q",
            "queries: learned in the full transformer; elsewhere W_Q = I, as attention depends on "
            "the product W_Kᵀ W_Q alone, so that W_K is the memory",
        ),
        (
            "recall",
            "recall, R(W, W*)",
            "share of its pairs that a matrix gets right, asked on its own; as in the authors' "
            "code, keys compete for each query of W_K¹ and W_K², where eq. 9 lets the queries "
            "compete",
        ),
        (
            "bigrams in context",
            "(n_ij + 1) / (n_i + k)",
            "how often state j has followed i so far: what counting pairs predicts",
        ),
        (
            "one-step recall",
            "R_1",
            "share of outputs that a single gradient step on W_O² recalls, from even attention",
        ),
        (
            "noise",
            "ρ",
            "variance that overlapping random vectors add to what is read from a memory; it falls "
            "as 2/d",
        ),
        ("step size", "η", "how far a gradient step goes: the gradient times this number"),
        ("tau", "τ", "how strong the spurious pairs of W_O² are beside the right ones, eq. 16"),
        ("KL", "KL(p || q)", "how far the prediction q is from p, in nats; 0 if they are equal"),
        (
            "remapping",
            "W₀ u",
            "a random matrix times a vector: a new vector, nearly orthogonal to the old one",
        ),
        ("factorised", "d/(2d′) U V", "a memory as the product of two matrices of inner width d′"),
        (
            "previous-token head, induction head",
            "layer 1, layer 2",
            "in a language model: a head that looks at the token before, and one that looks at "
            "what followed the same token earlier",
        ),
        (
            "logit lens",
            "W_U n(x)",
            "the stream of an earlier layer, read as if it were that after the last",
        ),
        (
            "token",
            "z_t",
            "what a language model reads and says: a word, a part of one, or a sign",
        ),
        (
            "loss",
            "−ln p",
            "p: probability given to the right character; in nats, and one nat is a factor e = 2.7",
        ),
    ),
    picture=("birth.induction", "order", draw),
    opening=OPENING,
    tour=(
        "induction",
        "constructed",
        "data",
        "dimension",
        "steps",
        "laboratory",
        "transformer",
        "counting",
        "length",
        "pretrained",
    ),
    highlights=tuple(("induction", beat) for beat in ("start", "output", "back", "find", "zero")),
    lessons=(lesson.LESSON, pretrained_lesson.LESSON),
    publication=Publication(
        title="Birth of a Transformer: A Memory Viewpoint",
        authors=(
            "Alberto Bietti",
            "Vivien Cabannes",
            "Diane Bouchacourt",
            "Hervé Jégou",
            "Léon Bottou",
        ),
        arxiv="2306.00802",
        version=2,
        date=datetime.date(2023, 11, 6),
        venue="NeurIPS 2023",
    ),
    follow_ups=(
        FollowUp(
            "The Evolution of Statistical Induction Heads: In-Context Learning Markov Chains",
            "Edelman et al.",
            2024,
            "2402.11004",
            "Its three stages, from a uniform guess to counts of pairs, are trained here.",
            "counting",
        ),
        FollowUp(
            "On the Emergence of Induction Heads for In-Context Learning",
            "Musat et al.",
            2025,
            "2511.01033",
            "It finds a time to the head that grows with the square of the length. So it does here "
            "where there is one place to copy from, but not in this paper's task.",
            "length",
        ),
        FollowUp(
            "Learning Associative Memories with Gradient Descent",
            "Cabannes et al.",
            2024,
            "2402.18724",
            "One memory learned by gradient descent, frequent pairs first.",
            "laboratory",
        ),
        FollowUp(
            "How Transformers Learn Causal Structure with Gradient Descent",
            "Nichani et al.",
            2024,
            "2402.14735",
            "A proof for another task; here the paper's own three steps, one at a time.",
            "steps",
        ),
        FollowUp(
            "Distributional Associations vs In-Context Reasoning: A Study of Feed-forward and "
            "Attention Layers",
            "Chen et al.",
            2024,
            "2406.03068",
            "Which layer learns the bigrams and which the context: the preset “Both kinds of "
            "knowledge”.",
            "induction",
        ),
        FollowUp(
            "Rethinking Associative Memory Mechanism in Induction Head",
            "Shuo Wang and Issei Sato",
            2024,
            "2412.11459",
            "How the head balances what the context says with what bigrams say: the panel on "
            "copying.",
            "induction",
        ),
        FollowUp(
            "What needs to go right for an induction head? A mechanistic study of in-context "
            "learning circuits and their formation",
            "Singh et al.",
            2024,
            "2404.07129",
            "Heads that share the work, taken away one by one: the drawer “Replace heads”.",
            "transformer",
        ),
        FollowUp(
            "Which Attention Heads Matter for In-Context Learning?",
            "Yin and Steinhardt",
            2025,
            "2502.14010",
            "Induction heads are not all of in-context learning: with a few examples of a task, "
            "other heads matter more. Here a real model's are asked for repeated tokens alone.",
            "pretrained",
        ),
        FollowUp(
            "Do pretrained Transformers Learn In-Context by Gradient Descent?",
            "Shen et al.",
            2023,
            "2310.08540",
            "It doubts that pretrained models descend a gradient on the examples of a prompt. A "
            "head that copies, as here, is no such descent; examples of a task are not asked for.",
            "pretrained",
        ),
        FollowUp(
            "Predicting the Formation of Induction Heads",
            "Aoyama et al.",
            2025,
            "2511.16893",
            "How repetition in the data decides when a head forms.",
            "data",
        ),
    ),
    errata=(
        "Figure 2, caption: the fixed triggers are a and t. By Appendix E they are the K = 3 most "
        "frequent characters, which are the space, e and t; so they are here.",
        "Section 4.1: attention is near-uniform at random initialisation, with vectors N(0, 1/d). "
        "The authors' code draws embeddings N(0, 1), with which it is not (see the claims on the "
        "induction head).",
        "Appendix A: the variance of xᵀ W x is (d + 2) / d², twice what is printed (see the memory "
        "laboratory).",
        "Appendix B.3: given that the last token is the trigger's second occurrence, the output is "
        "the trigger itself with probability 1/(T − 1), not 1/N: drawn from the chain, 0.071 ± "
        "0.003 for N = 65 and T = 16. The three steps here sample the proof's law. On their first "
        "seed 95% of the answers are right after them, and 96% if they sample the chain.",
        "Appendix B.3.2: the output's place t_o is uniform, not concentrated around T/2. γ_T is "
        "then larger than stated, (1.5 at T = 16, 4.1 at T = 256) / T, so the bound holds.",
        "Eq. 25: the bound O(T/N) on the other terms is 0.25 at N = 65 and T = 16, above the "
        "signal of order 1/T = 0.06 that it is to stay below, although all pairs are recalled.",
    ),
    folded_claims={
        "induction.accuracy-random": "transformer.full-random",
        "induction.accuracy-fixed": "transformer.full-fixed",
        "induction.one-layer": "transformer.full-one-layer",
        "induction.bigram-does-not": "data.bigram-fails-elsewhere",
    },
    documents={
        "text": "shared.text_counts",
        "matrices": "shared.own_matrices",
        "weights": "weights_file",
    },
    order=1,
    mathematics=r"""
Tokens $z_t$ enter as $x_t = w_E(z_t) + p_t$, random vectors that are nearly orthogonal. A memory of
pairs $(u_i, v_j)$ is a sum of outer products $W = \sum_{(i,j)} v_j u_i^\top$; asked with $u_i$ it
answers $W u_i \approx v_j$.

The induction head needs three of them (eq. 7):
$$
W_K^1 = \sum_{t \ge 2} p_t p_{t-1}^\top, \quad
W_K^2 = \sum_k w_E(k) (W_O^1 W_V^1 w_E(k))^\top, \quad
W_O^2 = \sum_k w_U(k) (W_V^2 w_E(k))^\top,
$$
and the bigrams a fourth (eq. 8), $W_F = \sum_{i,j} \log \pi_b(j|i)\, w_U(j) w_E(i)^\top$. Layer 1
lets every token look at the one before it and keep a remapped copy of it. Layer 2 lets a trigger
look for the token whose copy is the trigger itself: the token after its earlier occurrence. $W_O^2$
reads that token out.

Recall (eq. 9) is the share of pairs for which $\arg\max_{j'} v_{j'}^\top W u_i = j$. The authors'
code, and the curves here, take the maximum over the keys $u_{i'}$ instead for $W_K^1$ and $W_K^2$,
as the softmax does.

One gradient step on $W_O^2$ from even attention answers output $k$ with $\sum_j S_{kj}\,
v_{k'}^\top v_j$ for input $k'$, where $v_j = W_V^2 w_E(j)$ and $S_{kj}$ is how much more often than
on average $j$ has occurred when $k$ follows. In units of $\mathbb{E}\,|v_j|^2$ that has mean
$S_{kk'}$, and random vectors add noise of variance $\rho \sum_{j \ne k'} S_{kj}^2 + (2\rho +
\tfrac{c - 1}{d^2}) S_{kk'}^2$ with $\rho = (2d - 2 + c) / d^2$ and $c$ the kurtosis of the entries
of $W_V^2$.
""",
)
