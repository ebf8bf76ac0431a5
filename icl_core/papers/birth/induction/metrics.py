"""The milestones under the name by which the lesson imports them."""

from icl_core.papers.birth.induction.memory_formation import milestones

__all__ = ["milestones"]
