"""What the paper says, each claim written once."""

from icl_core.experiment import Claim

RECOVERED = Claim(
    id="toy.recovered",
    label="teacher found",
    text="The student's weights come to point where the teacher's do.",
    source="Section 1",
    predicted=1.0,
    tolerance=0.02,
)
EXACT = Claim(
    id="toy.exact",
    label="no loss left",
    text="The loss falls to zero.",
    source="Section 2",
    predicted=0.0,
    tolerance=0.0,
    relation="at most",
    reason="Training stops after finitely many steps, and float32 rounds.",
)
