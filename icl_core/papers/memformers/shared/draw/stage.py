"""What the stages of two experiments or more share: figures that fill a small box, one line of
legend above."""

from icl_core.contract.figure import Figure

MARGIN = {"l": 56, "r": 18, "t": 26, "b": 46}
LEGEND = {"x": -0.06, "y": 1.01, "font": {"size": 13}}
HEIGHT = 300  # pixels of a seat, for which the ranges of axes leave room


def fitted(figure: Figure, **margin: int) -> Figure:
    """The figure with margins and a legend for a seat of the stage."""
    for label in figure.layout.get("annotations", ()):
        label.pop("bgcolor", None)  # it would cover the curves
    return figure.update_layout(margin=MARGIN | margin, legend=LEGEND)


def named(figure: Figure, title: str = "") -> Figure:
    """Stacked blocks in a seat: the legend says once, or not at all, that they are heads."""
    for trace in figure.data:
        trace.update(name=trace["name"].removeprefix("head of ").replace("-", "\N{MINUS SIGN}"))
    return fitted(figure, b=70).update_layout(
        legend={"title": {"text": title, "side": "left", "font": {"size": 13}}}
    )
