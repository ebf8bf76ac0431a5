"""What the stages of two experiments or more share: figures that fill a small box."""

from icl_core import figures
from icl_core.contract.figure import Figure

HEIGHT = figures.SEAT  # for which the ranges of axes leave room


def fitted(figure: Figure, width: int = figures.THIRD) -> Figure:
    """Return the figure in a seat of the stage; its legend may take `width` pixels."""
    for label in figure.layout.get("annotations", ()):
        label.pop("bgcolor", None)  # it would cover the curves
    return figures.seated(figure, width)


def named(figure: Figure, title: str = "") -> Figure:
    """Return stacked blocks in a seat: the legend has a `title`, or does not say at all that they
    are heads."""
    for trace in figure.data:
        trace.update(name=trace["name"].removeprefix("head of "))
    return fitted(figure.update_layout(legend={"title": {"text": title}}))
