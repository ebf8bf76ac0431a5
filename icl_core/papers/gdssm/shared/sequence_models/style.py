"""How a model is drawn wherever it is."""

from typing import Any

from icl_core.figures.style import colour
from icl_core.papers.gdssm.shared.sequence_models import Model


def marker(model: Model, size: int, **more: Any) -> dict[str, Any]:
    """Return a model's dot."""
    shade = colour(model.colour)
    return {
        "size": size,
        "color": shade,
        "symbol": model.symbol,
        "line": {"width": 2, "color": shade},
    } | more
