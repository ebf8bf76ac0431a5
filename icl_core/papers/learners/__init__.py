"""One prompt, every learner: what the papers' models learn to do, beside all that can be written
down."""

from icl_core.contract.experiment import Paper
from icl_core.papers.learners.lesson import LESSON
from icl_core.papers.learners.picture import draw
from icl_core.papers.learners.words import WORDS

PAPER = Paper(
    name="learners",
    words=WORDS,
    authors="Across the papers",
    year=2026,
    experiments={"prompt": 2, "trained": 2, "rotation": 1, "diversity": 1, "memory": 2},
    beyond=("rotation", "diversity", "memory"),
    picture=("learners.prompt", "two", draw),
    highlights=(("prompt", "nearest"), ("prompt", "end")),
    lessons=(LESSON,),
    order=4,
)
