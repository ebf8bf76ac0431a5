"""A figure as Streamlit takes it."""

from collections.abc import Mapping
from typing import Any

from plotly.basedatatypes import BaseFigure

from icl_core.contract.figure import Figure


def domains(layout: Mapping[str, Any]) -> dict[str, Any]:
    """Where each axis of a layout was put: plotly.js overwrites it for square-celled maps, and the
    page gives it back (maps.js)."""
    return {
        name: axis["domain"] for name, axis in layout.items() if "axis" in name and "domain" in axis
    }


class StreamlitFigure(BaseFigure):
    """A figure ready to be sent: of plain dictionaries Streamlit would build plotly's objects
    first, which takes forty times as long. `fills`: it is as high as its box."""

    def __init__(self, figure: Figure, fills: bool = False) -> None:
        self._ready = figure.to_dict()
        layout = self._ready["layout"]
        layout["meta"] = {**layout.get("meta", {}), "domains": domains(layout)}
        if fills:
            layout.pop("height", None)

    def to_dict(self) -> dict[str, Any]:  # type: ignore[override]
        """What plotly.js reads."""
        return self._ready
