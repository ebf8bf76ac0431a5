"""Toward generalizable learning of all (linear) first-order methods via memory augmented
Transformers (Dutta, Sra, 2025)."""

import datetime

from icl_core.contract.experiment import Paper
from icl_core.contract.publication import FollowUp, Publication
from icl_core.papers.memformers.lesson import LESSON
from icl_core.papers.memformers.picture import draw
from icl_core.papers.memformers.words import WORDS

PAPER = Paper(
    name="memformers",
    words=WORDS,
    authors="Dutta, Sra",
    year=2025,
    publication=Publication(
        title="Toward generalizable learning of all (linear) first-order methods via memory "
        "augmented Transformers",
        authors=("Sanchayan Dutta", "Suvrit Sra"),
        arxiv="2410.07263",
        version=3,
        date=datetime.date(2025, 2, 1),
        code=(
            ("SanchayanDutta/LinearTransformer", "c232288"),
            ("SanchayanDutta/NeurIPS-2025", "01d5ab1"),
        ),
        measured_errata="theorems.errata",
        code_differs="theorems.code",
    ),
    follow_ups=(
        FollowUp(
            "Transformers learn to implement preconditioned gradient descent for in-context "
            "learning",
            "Ahn et al.",
            2023,
            "2306.00297",
            "convergence",
        ),
        FollowUp(
            "Linear Transformers are Versatile In-Context Learners",
            "Vladymyrov et al.",
            2024,
            "2402.14180",
            "methods",
        ),
        FollowUp(
            "Do pretrained Transformers Learn In-Context by Gradient Descent?",
            "Shen et al.",
            2023,
            "2310.08540",
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
    beyond=("speed",),
    picture=("memformers.methods", "lfom", draw),
    highlights=(
        ("methods", "guess"),
        ("methods", "ahead"),
        ("methods", "memory"),
        ("convergence", "found"),
    ),
    lessons=(LESSON,),
    learners="learners",
    order=2,
)
