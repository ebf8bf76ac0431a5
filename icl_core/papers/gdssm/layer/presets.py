"""Named settings of the trained layer: the classroom's, and one for each figure."""

from dataclasses import replace

from icl_core.experiment import Preset
from icl_core.papers.gdssm.shared.settings import Config

LAYER = Config()
TWO = replace(LAYER, layers=2, recurrence="scalar", batch=512, steps=1000)

# name, title, config, what to see, group
ROWS = (
    ("layer", "Figures 2 and 3: one layer", LAYER,
     "In a second of training the layer becomes one step of gradient descent.", "classroom"),
    ("full", "A decay for every entry", replace(LAYER, recurrence="full", batch=128, rate=0.01, steps=600),
     "A hundred decays to learn: all come close to 1, for a sum forgets nothing.", "classroom"),
    ("scalar", "One decay for all", replace(LAYER, recurrence="scalar"),
     "A single number keeps the whole state: look how close to 1 it comes.", "classroom"),
    ("skip", "With a skip connection", replace(LAYER, skip=True),
     "The layer is offered a short cut and learns not to take it.", "classroom"),
    ("one feature", "One feature: your own points", replace(LAYER, f=1, steps=600),
     "Type points and see the line that the layer fits to them.", "classroom"),
    ("1-D", "Figure 1: scalar labels", replace(LAYER, model="1-D", batch=1024, rate=0.01, steps=600),
     "Tokens [x y, next x]: the weights agree as a product only, for the state has no basis of its own.", "figures"),
    ("two layers", "Figures 4 A and 5: two layers", TWO,
     "Better than two steps of one rate: training finds two rates.", "figures"),
    ("three layers", "Three layers, three rates", replace(TWO, layers=3, batch=256),
     "Three steps with a rate each. With larger batches not every start got there.",
     "beyond the paper"),
    ("penalised", "An L2 penalty built in", replace(TWO, penalty=0.1),
     "The layers are given a penalty, and training undoes it.", "beyond the paper"),
)  # fmt: skip

PRESETS = tuple(Preset(name, title, config, about, group, seeds=5) for name, title, config, about, group in ROWS)
