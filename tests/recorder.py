"""The progress of a training that a test watches or kills, and runs that tests share."""

from functools import cache

import numpy as np

from icl_core.contract.experiment import NextTraining, Run


class Interrupted(Exception):
    """The training was killed here."""


class Recorder:
    """A progress that keeps nothing, or that stops at the first report from a step on, with the
    state in hand."""

    def __init__(self, stop=None, saved=None, earlier=()):
        self.stop = stop
        self.saved = saved
        self.reports = []
        self.ended = {}  # the states of this run's trainings
        self.ended_before = dict(earlier)  # and of a shorter one's
        self.seen = {}  # the curves when it stopped

    def resume(self):
        return self.saved

    def take(self, trainings):
        return NextTraining(trainings[0])

    def give(self, name, made):
        pass

    def earlier(self, name):
        return self.ended_before.get(name, {})

    def end(self, name, state):
        self.ended[name] = {key: np.array(array) for key, array in state().items()}

    def enter(self, what, first=0, steps=0):
        pass

    def report(self, done, total, loss, live, state, preview=dict):
        self.reports.append((done, total, loss))
        if self.stop is not None and done >= self.stop:
            self.saved = {name: np.array(array) for name, array in state().items()}
            self.seen = live()
            raise Interrupted


class Watching(Recorder):
    """A progress that keeps in `shown` what there is to draw of a run that is still going: whenever
    it holds other tensors than before."""

    def __init__(self):
        super().__init__()
        self.shown = []

    def report(self, done, total, loss, live, state, preview=dict):
        super().report(done, total, loss, live, state, preview)
        tensors = {name: np.array(array) for name, array in live().items()}
        if tensors and (not self.shown or tensors.keys() != self.shown[-1].keys()):
            self.shown.append(tensors)


@cache
def short_run(compute, config) -> Run:
    """The run of a setting, trained once in each file of tests: files have test sets of their own
    sizes. Who changes a tensor of it copies it first."""
    return Run(config, compute(config, Recorder()))
