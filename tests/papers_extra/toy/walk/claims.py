"""What is claimed, each claim written once."""

from icl_core.contract.experiment import Claim

RECOVERED = Claim(
    id="toy.recovered",
    label="teacher found",
    kind="paper",
    text="The student's weights come to point where the teacher's do.",
    quote="the student finds its teacher",
    source="Section 1",
    near=1.0,
    tolerance=0.02,
)
EXACT = Claim(
    id="toy.exact",
    label="last loss",
    kind="theory",
    text="No loss is left.",
    source="exact",
    at_most=0.0,
)
