"""The model of Section 4.2 as a diagram, and what the proof leaves out of it."""

from dataclasses import replace
from types import SimpleNamespace

from icl_core.contract.diagram import Diagram
from icl_core.papers.birth.shared import diagram as shared
from icl_core.papers.birth.steps.settings import Config

SIMPLER = (
    " The proof makes it simpler: layer 2 finds its keys in layer 1's copies alone, its queries "
    "and values in the characters alone, and layer 1 looks by position alone. Only what W_O² "
    "writes reaches the output."
)


def steps_diagram(config: Config) -> Diagram:
    """Return the diagram of a config's model; neither setting has a feed-forward layer."""
    whole = shared.model_diagram(
        SimpleNamespace(feed_forward=False), "trained", ("w_o2", {}), "recalls"
    )
    return whole if config.setup == "whole" else replace(whole, say=whole.say + SIMPLER)
