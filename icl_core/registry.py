"""Finds the papers: every folder of `icl_core/papers` with a PAPER. The spine names none of them."""

import importlib
import os
import pkgutil
from functools import cache

from icl_core import papers as _papers
from icl_core.experiment import Experiment, Paper


@cache
def papers() -> dict[str, Paper]:
    """All papers by folder name, in the order they ask for. Imports no experiment, hence no torch.

    `ICL_PAPERS` may name one more folder of papers, for trying a paper before it is moved in.
    """
    extra = os.environ.get("ICL_PAPERS")
    if extra and extra not in _papers.__path__:
        _papers.__path__.append(extra)
    names = [module.name for module in pkgutil.iter_modules(_papers.__path__) if module.ispkg]
    found = {name: importlib.import_module(f"icl_core.papers.{name}").PAPER for name in names}
    return dict(sorted(found.items(), key=lambda item: (item[1].order, item[0])))


@cache
def experiment(experiment_id: str) -> Experiment:
    """The experiment called `paper.name`; `ValueError` that lists the known ones if there is none."""
    if experiment_id not in experiment_ids():
        raise ValueError(f"there is no experiment {experiment_id!r:.80}; there are {', '.join(experiment_ids())}")
    return importlib.import_module(f"icl_core.papers.{experiment_id}").EXPERIMENT


def experiment_ids() -> list[str]:
    """Every `paper.experiment`, in the order of the menu."""
    return [f"{name}.{module}" for name, paper in papers().items() for module in paper.experiments]
