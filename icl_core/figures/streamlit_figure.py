"""A figure in the form that Streamlit accepts."""

from typing import Any

from plotly.basedatatypes import BaseFigure

from icl_core.contract.figure import Figure
from icl_core.figures.frames import domains


class StreamlitFigure(BaseFigure):
    """A figure that Streamlit sends as it is.

    From plain dictionaries Streamlit would first build plotly's objects, which takes forty times as
    long. With `fills` the figure is as high as its box.
    """

    def __init__(self, figure: Figure, fills: bool = False) -> None:
        self._ready = figure.to_dict()
        layout = self._ready["layout"]
        layout["meta"] = {**layout.get("meta", {}), "domains": domains(layout)}
        if fills:
            layout.pop("height", None)

    def to_dict(self) -> dict[str, Any]:  # type: ignore[override]
        """Return what plotly.js reads."""
        return self._ready
