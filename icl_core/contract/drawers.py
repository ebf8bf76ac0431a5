"""The drawers under the stage stand in groups, which are the same for every experiment."""

LOOK_CLOSER, CHANGE_IT, COMPARE = "Look closer", "Change it", "Compare"
SWEEP = "Sweep"
EVIDENCE, WHY = "Evidence", "Why"  # these groups have one drawer, of the same name
GROUPS = (LOOK_CLOSER, CHANGE_IT, COMPARE, EVIDENCE, WHY)

# The drawers of each group, by name; LOOK_CLOSER has all others.
_DRAWERS = {
    CHANGE_IT: (
        *("Graft", "Replace heads", "Break it", "Another prompt"),
        *("Your own sequence", "Your own text", "Your own points", "Your own pairs"),
    ),
    COMPARE: (
        *("Trained beside constructed", "Theory beside simulation", "Uniform or bigram outputs"),
        *("Every method", "Every rule", "Every rate", "Every slope", "Every width"),
        *("Every training", "Other forms", "Other coordinates", "Other covariances"),
        *("Order and width", "Batch size", "One layer", "All seeds", "Seed by seed"),
        *("What it acts like", "Who is who", SWEEP),
    ),
    EVIDENCE: (EVIDENCE,),
    WHY: (WHY,),
}


def group_of(drawer: str) -> str:
    """Return the group in which a drawer stands."""
    return next((group for group, names in _DRAWERS.items() if drawer in names), LOOK_CLOSER)
