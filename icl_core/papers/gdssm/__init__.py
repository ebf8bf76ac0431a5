"""State-space models can learn in-context by gradient descent (Sushma et al., 2024): GD-SSM."""

import datetime

from icl_core.contract.experiment import Paper
from icl_core.contract.publication import FollowUp, Publication
from icl_core.papers.gdssm.lesson import LESSON
from icl_core.papers.gdssm.picture import draw
from icl_core.papers.gdssm.states_lesson import LESSON as STATES_LESSON
from icl_core.papers.gdssm.words import WORDS

PAPER = Paper(
    name="gdssm",
    words=WORDS,
    authors="Sushma, Tian, Mestha, Colombo, Kappel, Subramoney",
    year=2024,
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
        code=(("Efficient-Scalable-Machine-Learning/gd-ssm", "92f4555"),),
        measured_errata="corrections.table",
    ),
    follow_ups=(
        FollowUp(
            "Is Mamba Capable of In-Context Learning?",
            "Grazzi et al.",
            2024,
            "2402.03170",
            "comparison",
        ),
        FollowUp(
            "Can Mamba Learn How to Learn? A Comparative Study on In-Context Learning Tasks",
            "Park et al.",
            2024,
            "2402.04248",
            "learns",
        ),
        FollowUp(
            "Trained Mamba Emulates Online Gradient Descent in In-Context Linear Regression",
            "Jiang et al.",
            2025,
            "2509.23779",
            "comparison",
        ),
        FollowUp(
            "Do pretrained Transformers Learn In-Context by Gradient Descent?",
            "Shen et al.",
            2023,
            "2310.08540",
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
    beyond=("plateau", "learns", "states", "classes"),
    highlights=(
        ("layer", "before"),
        ("layer", "becomes"),
        ("layer", "scale"),
        ("comparison", "who"),
        ("comparison", "close"),
    ),
    lessons=(LESSON, STATES_LESSON),
    learners="learners",
    order=3,
)
