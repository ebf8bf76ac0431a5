"""The shortest complete example of a paper, which the tests use: copy this folder."""

from icl_core.contract.experiment import Paper
from icl_core.contract.paper_words import PaperWords

PAPER = Paper(
    name="toy",
    words=PaperWords(__file__),
    authors="N. N.",
    year=1805,
    experiments={"walk": 1},
    documents={"points": "points"},
)
