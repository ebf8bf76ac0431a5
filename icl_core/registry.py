"""Finds the papers: every folder of `icl_core/papers` with a PAPER. The spine names
none of them."""

import importlib
import logging
import os
import pkgutil
import sys
from functools import cache

from icl_core import papers as _papers
from icl_core.contract.experiment import Experiment, Paper
from icl_core.contract.knobs import BadSetting
from icl_core.contract.lesson import Lesson


@cache
def papers() -> dict[str, Paper]:
    """All papers by folder name, in the order they ask for. Imports no experiment, hence no torch.

    `ICL_PAPERS` may name one more folder of papers, for trying a paper before it is moved in.
    """
    extra = os.environ.get("ICL_PAPERS")
    if extra and extra not in _papers.__path__:
        _papers.__path__.append(extra)
    names = [module.name for module in pkgutil.iter_modules(_papers.__path__) if module.ispkg]
    found = {name: paper for name in names if (paper := _paper(name)) is not None}
    return dict(sorted(found.items(), key=lambda item: (item[1].order, item[0])))


def _paper(name: str) -> Paper | None:
    """The paper in the folder `name`; None, and a message in the log, if it cannot be imported."""
    try:
        return importlib.import_module(f"icl_core.papers.{name}").PAPER
    except Exception:  # whatever it is: one broken paper must not take the others with it
        logging.getLogger(__name__).exception("the paper in the folder %s is left out", name)
        return None


@cache
def experiment(experiment_id: str) -> Experiment:
    """The experiment called `paper.name`; `BadSetting` that lists the known ones if there is none.
    Imports torch."""
    _check(experiment_id)
    return importlib.import_module(f"icl_core.papers.{experiment_id}").EXPERIMENT


def experiment_ids() -> list[str]:
    """Every `paper.experiment`, in the order of the menu."""
    return [f"{name}.{module}" for name, paper in papers().items() for module in paper.experiments]


def lessons() -> dict[str, tuple[Paper, Lesson]]:
    """The lessons that there are, by name, each with its paper. Imports no experiment."""
    return {paper.lesson.name: (paper, paper.lesson) for paper in papers().values() if paper.lesson}


def version(experiment_id: str) -> int:
    """The experiment's version of today; `BadSetting` for an unknown one. Imports no experiment."""
    paper, _, name = experiment_id.partition(".")
    found = papers().get(paper)
    if (
        found and name in found.experiments
    ):  # asked at every look of every job that waits: without a list of all
        return found.experiments[name]
    raise _unknown(experiment_id)


def imported(experiment_id: str) -> bool:
    """Whether the experiment's module is loaded already: looking at it then costs nothing."""
    return f"icl_core.papers.{experiment_id}" in sys.modules


def _check(experiment_id: str) -> None:
    if experiment_id not in experiment_ids():
        raise _unknown(experiment_id)


def _unknown(experiment_id: str) -> BadSetting:
    return BadSetting(
        f"there is no experiment {experiment_id!r:.80}; there are {', '.join(experiment_ids())}"
    )
