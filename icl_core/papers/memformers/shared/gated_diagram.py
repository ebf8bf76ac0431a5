"""Heads that each learned one distribution, and their gates, as a diagram (Section 4.2)."""

from collections.abc import Sequence

from icl_core.contract.diagram import Arrow, Box, Diagram

SAY = (
    "Every head reads the prompt and finds a step of its own; it learned that on prompts of one "
    "kind only, and is then left as it is. A gate g, one number per head, scales what its head "
    "adds. At test time the gates alone are learned."
)
LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
TOP = 50.0  # pixels above the first head
APART = 86.0  # pixels from one head to the next


def diagram(kinds: Sequence[str], shows: str, ends: str) -> Diagram:
    """Return the diagram of one step. `kinds` names what each head learned; `shows` is the drawing
    of the gates, `ends` that of the error."""
    heights = [TOP + APART * place for place in range(len(kinds))]
    middle = (heights[0] + heights[-1]) / 2
    boxes = [Box("Z", "Z", 70, middle, "computed", "the prompt", width=110, height=64)]
    arrows: list[Arrow] = []
    for place, (kind, y) in enumerate(zip(kinds, heights, strict=True), 1):
        name = str(place).translate(LOW)
        boxes.append(
            Box(f"A{place}", f"A{name}, Γ{name}", 330, y, "trained", kind, width=240, height=64)
        )
        boxes.append(
            Box(f"g{place}", f"g{name}", 560, y, "trained", "gate", shows, width=90, height=64)
        )
        arrows += [
            Arrow("Z", f"A{place}"),
            Arrow(f"A{place}", f"g{place}"),
            Arrow(f"g{place}", "sum"),
        ]
    boxes.append(Box("sum", "+", 720, middle, "sum"))
    boxes.append(
        Box("w", "w_L · x", 890, middle, "computed", "prediction", ends, width=130, height=64)
    )
    return Diagram(SAY, tuple(boxes), (*arrows, Arrow("sum", "w")), 1000, heights[-1] + TOP)
