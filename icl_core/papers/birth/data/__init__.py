"""What has the data to do with how soon the induction head forms? Here the same transformer is
trained on six kinds of sequences: with one trigger or several, always the same ones or new ones in
every sequence, frequent ones or rare ones, followed by any character or by a likely one. You see
which training learns to copy first, which of its matrices is late, and what each matrix has stored
in the end.

Change the data in “What is stored” and find the pairs that a matrix never learned: of W_K², those
that it seldom met; of W_O², those that W_F already predicts.
"""

from icl_core.contract.experiment import FIRST_SEED, Drawing, Experiment, Run
from icl_core.papers.birth.data import claims
from icl_core.papers.birth.data.arrivals import LEVEL, arrival
from icl_core.papers.birth.data.draw import outputs, speed, stored, table
from icl_core.papers.birth.data.metrics import measure
from icl_core.papers.birth.data.settings import DATA, PRESETS, Config, View
from icl_core.papers.birth.data.story import NUMBERS, OUTPUTS, STORED, STORY
from icl_core.papers.birth.data.train import DENSE, EVERY, WATCHED, compute
from icl_core.training.loop import evaluations


def headline(run: Run, view: View) -> str:
    """Return what you see: on which data the head forms first and last."""
    rows = speed.ordered(run)
    first, last = (speed.when(arrival(run, "accuracy", name), run) for name in (rows[0], rows[-1]))
    return (
        f"With {_triggers(rows[0])}, copying is {LEVEL:.0%} right {first}; with "
        f"{_triggers(rows[-1])}, {last}."
    )


def _triggers(name: str) -> str:
    label = DATA[name].label if name in DATA else name
    return f"{label} trigger{'s' * (not label.startswith('1'))}"


def cost(config: Config) -> float:
    """Giga-operations of all trainings: maps, matrices and outputs at every position, and the
    evaluations."""
    looks = len(evaluations(config.steps, EVERY, DENSE)) * WATCHED / 3
    token = 10 * config.T * config.d + 16 * config.d**2 + 6 * config.N * config.d
    return len(DATA) * config.seeds * config.T * (config.batch * config.steps + looks) * token / 1e9


SHOWN = ("data_shown",)

EXPERIMENT = Experiment(
    name="data",
    title="What the data decides",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("arrivals", speed.arrivals, (), wide=True, moving=False),
        Drawing("losses", speed.losses, (), live=True, moving=False),
        Drawing("w_o2", speed.w_o2, (), live=True, moving=False),
        Drawing("w_k2", speed.w_k2, (), live=True, moving=False),
        Drawing("w_k1", speed.w_k1, (), live=True, moving=False),
        Drawing("generalise", outputs.accuracy, (), OUTPUTS, live=True, moving=False),
        Drawing("fits", outputs.probes, (), OUTPUTS, live=True, moving=False),
        Drawing("maps", stored.maps, SHOWN, STORED, wide=True, moving=False, seeds=FIRST_SEED),
        Drawing("positions", stored.positions, (), STORED, moving=False),
        Drawing("frequencies", stored.frequencies, SHOWN, STORED, moving=False),
        Drawing("table", table.data_table, (), NUMBERS, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    goes_on=lambda config: True,
    story=STORY,
    picture=("arrivals",),
)
