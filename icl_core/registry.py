"""Find the papers, their experiments, lessons, kinds of documents and trained learners.

A paper is a folder of `icl_core/papers` with a PAPER. The spine names none of them.
"""

import importlib
import logging
import os
import pkgutil
import sys
from functools import cache
from typing import Any

from icl_core import papers as _papers
from icl_core.contract import words
from icl_core.contract.document import DocumentKind
from icl_core.contract.experiment import Experiment, Paper
from icl_core.contract.knobs import BadSetting
from icl_core.contract.lesson import Lesson
from icl_core.contract.message import nearest_name
from icl_core.contract.trained_learner import TrainedLearner
from icl_core.machine import device

_log = logging.getLogger(__name__)


@cache
def papers() -> dict[str, Paper]:
    """Return all papers by folder name, in the order that they ask for.

    A paper that cannot be imported is left out, with a message in the log. No experiment is
    imported. `ICL_PAPERS` may name one more folder of papers, to try a paper before it is moved in.
    """
    extra = os.path.expanduser(os.environ.get("ICL_PAPERS", ""))
    if extra and extra not in _papers.__path__:
        _papers.__path__.append(extra)
    by_name: dict[str, Paper] = {}
    for module in pkgutil.iter_modules(_papers.__path__):
        if not module.ispkg:
            continue
        try:
            by_name[module.name] = _value(module.name, "PAPER")
        except Exception:  # whatever it is: one broken paper must not take the others with it
            _log.exception("the paper in the folder %s is left out", module.name)
    return dict(sorted(by_name.items(), key=lambda item: (item[1].order, item[0])))


@cache
def document_kinds() -> dict[str, DocumentKind]:
    """Return the kinds of documents that settings of the papers take, by name.

    A kind that cannot be imported, and one whose name an earlier paper has taken, is left out, with
    a message in the log. No experiment is imported.
    """
    kinds: dict[str, DocumentKind] = {}
    for paper_name, paper in papers().items():
        for name, module in paper.documents.items():
            try:
                if name in kinds:
                    raise ValueError(f"{name} must be a kind of document of one paper, got two")
                with device.no_memory_check():  # as for experiments
                    kinds[name] = _value(f"{paper_name}.{module}", "KIND")
            except Exception:  # as for papers
                _log.exception("the documents %s of the paper %s are left out", name, paper_name)
    return kinds


@cache
def trained_learners() -> dict[str, TrainedLearner]:
    """Return the models of all papers that learn linear regression, by id, in the papers' order.

    Raises ValueError for an id that two have.
    """
    learners: dict[str, TrainedLearner] = {}
    for name, paper in papers().items():
        for learner in _value(f"{name}.{paper.learners}", "LEARNERS") if paper.learners else ():
            if learner.id in learners:
                raise ValueError(f"{learner.id} must be a learner of one paper, got two")
            learners[learner.id] = learner
    return learners


def _value(module: str, name: str) -> Any:
    """Return the value called `name` of a module of the papers."""
    return getattr(importlib.import_module(f"icl_core.papers.{module}"), name)


@cache
def experiment(experiment_id: str) -> Experiment:
    """Return the experiment called `paper.name`.

    `BadSetting` lists the experiments if there is none of this name.
    """
    if experiment_id not in experiment_ids():
        raise _unknown(experiment_id)
    with device.no_memory_check():  # of its presets, whose runs are shown on small machines, too
        return _value(experiment_id, "EXPERIMENT")


def experiment_ids() -> list[str]:
    """Return every `paper.experiment`, in the order of the menu."""
    return [f"{name}.{module}" for name, paper in papers().items() for module in paper.experiments]


def lessons() -> dict[str, tuple[Paper, Lesson]]:
    """Return the lessons by name, each with its paper. Imports no experiment."""
    by_name: dict[str, tuple[Paper, Lesson]] = {}
    for paper in papers().values():
        by_name |= {lesson.name: (paper, lesson) for lesson in paper.lessons}
    return by_name


def version(experiment_id: str) -> int:
    """Return the experiment's present version; `BadSetting` if there is no such experiment.

    Imports no experiment. Waiting jobs ask for it at every look: no list of all is built for it.
    """
    paper_name, _, name = experiment_id.partition(".")
    paper = papers().get(paper_name)
    if paper is None or name not in paper.experiments:
        raise _unknown(experiment_id)
    return paper.experiments[name]


def take_changed_words() -> list[str]:
    """Have papers and experiments take their texts anew if a `words.md` has changed on disk, so
    that whoever writes it sees it in a dashboard that runs. Return a sentence for each that cannot
    be read as it is now."""
    if words.read_changed():
        for paper in papers().values():
            paper.take_words()
        for id in filter(imported, experiment_ids()):
            experiment(id).take_words()
    return words.problems()


def imported(experiment_id: str) -> bool:
    """Return whether the experiment's module is loaded: `experiment` then costs nothing."""
    return f"icl_core.papers.{experiment_id}" in sys.modules


def _unknown(experiment_id: str) -> BadSetting:
    """Return the refusal of an experiment that does not exist: it names the one that is most like
    it, or else all."""
    ids = {id.partition(".")[2]: id for id in experiment_ids()}  # typed without the paper
    ids |= {id: id for id in experiment_ids()}
    typed = experiment_id
    paper_name, _, name = experiment_id.partition(".")
    if paper_name in papers():  # the paper's name, which is right, makes no experiment likely
        typed = name
        ids = {name: f"{paper_name}.{name}" for name in papers()[paper_name].experiments}
    near = ids.get(nearest_name(typed, ids))
    hint = f" (did you mean {near!r}?)" if near else f"; there are {', '.join(experiment_ids())}"
    return BadSetting(f"there is no experiment {experiment_id!r:.80}{hint}")
