"""What convergence draws of its runs: the stage; all else is drawn of trained methods as well."""

from icl_core.papers.memformers.shared.draw.preconditioner import preconditioner_panel, whitened
from icl_core.papers.memformers.shared.draw.training import distances, training_panel

__all__ = ["distances", "preconditioner_panel", "training_panel", "whitened"]
