"""Birth of a Transformer: A Memory Viewpoint (Bietti, Cabannes, Bouchacourt, Jégou,
Bottou, 2023)."""

import datetime

from icl_core.contract.experiment import Paper
from icl_core.contract.publication import FollowUp, Publication
from icl_core.papers.birth import lesson, one_head_lesson, pretrained_lesson
from icl_core.papers.birth.picture import OPENING, draw
from icl_core.papers.birth.words import WORDS

PAPER = Paper(
    name="birth",
    words=WORDS,
    authors="Bietti, Cabannes, Bouchacourt, Jégou, Bottou",
    year=2023,
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
        "pretrained": 2,
    },
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
    beyond=("counting", "length", "pretrained"),
    highlights=tuple(("induction", beat) for beat in ("start", "output", "back", "find", "zero")),
    lessons=(lesson.LESSON, pretrained_lesson.LESSON, one_head_lesson.LESSON),
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
        code=(("albietz/transformer-birth", "165e11a"),),
    ),
    follow_ups=(
        FollowUp(
            "The Evolution of Statistical Induction Heads: In-Context Learning Markov Chains",
            "Edelman et al.",
            2024,
            "2402.11004",
            "counting",
        ),
        FollowUp(
            "On the Emergence of Induction Heads for In-Context Learning",
            "Musat et al.",
            2025,
            "2511.01033",
            "length",
        ),
        FollowUp(
            "Learning Associative Memories with Gradient Descent",
            "Cabannes et al.",
            2024,
            "2402.18724",
            "laboratory",
        ),
        FollowUp(
            "How Transformers Learn Causal Structure with Gradient Descent",
            "Nichani et al.",
            2024,
            "2402.14735",
            "steps",
        ),
        FollowUp(
            "Distributional Associations vs In-Context Reasoning: A Study of Feed-forward and "
            "Attention Layers",
            "Chen et al.",
            2024,
            "2406.03068",
            "induction",
        ),
        FollowUp(
            "Rethinking Associative Memory Mechanism in Induction Head",
            "Shuo Wang and Issei Sato",
            2024,
            "2412.11459",
            "induction",
        ),
        FollowUp(
            "What needs to go right for an induction head? A mechanistic study of in-context "
            "learning circuits and their formation",
            "Singh et al.",
            2024,
            "2404.07129",
            "transformer",
        ),
        FollowUp(
            "Which Attention Heads Matter for In-Context Learning?",
            "Yin and Steinhardt",
            2025,
            "2502.14010",
            "pretrained",
        ),
        FollowUp(
            "Do pretrained Transformers Learn In-Context by Gradient Descent?",
            "Shen et al.",
            2023,
            "2310.08540",
            "pretrained",
        ),
        FollowUp(
            "Predicting the Formation of Induction Heads",
            "Aoyama et al.",
            2025,
            "2511.16893",
            "data",
        ),
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
)
