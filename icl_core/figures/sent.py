"""A figure as Streamlit takes it."""

from typing import Any

from plotly.basedatatypes import BaseFigure

from icl_core.figure import Figure


class Sent(BaseFigure):
    """A figure ready to be sent: of plain dictionaries Streamlit would build plotly's objects first, which takes
    forty times as long. `fills`: it is as high as its box."""

    def __init__(self, figure: Figure, fills: bool = False) -> None:
        self._ready = figure.to_dict()
        layout = self._ready["layout"]
        # plotly.js overwrites those of square-celled maps: the page gives them back (maps.js)
        domains = {name: axis["domain"] for name, axis in layout.items() if "axis" in name and "domain" in axis}
        layout["meta"] = {**layout.get("meta", {}), "domains": domains}
        if fills:
            layout.pop("height", None)

    def to_dict(self) -> dict[str, Any]:  # type: ignore[override]
        """What plotly.js reads."""
        return self._ready
