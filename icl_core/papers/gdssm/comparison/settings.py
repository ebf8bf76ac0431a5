"""The settings of the comparison with other sequence models, and what is drawn of it."""

from dataclasses import replace

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import settings, toggle
from icl_core.papers.gdssm.shared.sequence_models.settings import Config


@settings
class View:
    """What is drawn of the comparison."""

    single_seeds: bool = toggle("single seeds", default=False)


SMALL = Config(steps=15_000, tuning=5_000)
PRODUCTS = Config(model="1-D", f=10, N=10, steps=20_000, tuning=3_000)
PAPERS = Config(f=10, N=10, batch=256, steps=20_000, tuning=3_000)
GARG = replace(PAPERS, steps=10_000, bias=True, curriculum=True, dense=True)

PRESETS = (  # first the one with time to learn: a class's tells who is quick, not who can
    Preset(
        "N-D",
        "Vector labels, f = 3, N = 5",
        SMALL,
        "The models must find which products they need: which of them do?",
        "Figures",
        seeds=5,
    ),
    Preset(
        "classroom",
        "In class: f = 3, N = 5",
        Config(),
        "A short training: which models are there already, and which still predict zero?",
        seeds=3,
    ),
    Preset(
        "1-D",
        "Figure 4 C: scalar labels, f = N = 10",
        PRODUCTS,
        "The tokens hold the products of ten features: which models get there?",
        "Paper's setting",
        seeds=5,
    ),
    Preset(
        "paper size",
        "Figure 6: vector labels, f = N = 10",
        PAPERS,
        "The paper's size, with a quarter of its 19.2 million tasks: who has left predicting zero?",
        "Paper's setting",
        seeds=3,
    ),
    Preset(
        "Figure 6, with a curriculum",
        "Figure 6, with a curriculum",
        GARG,
        "The paper's size as Garg et al. train: few features first, a loss at every x, a bias in "
        "the read-in. Who has left predicting zero?",
        "Paper's setting",
        seeds=3,
    ),
    Preset(
        "N-D, bias",
        "f = 3, N = 5, with a bias",
        replace(SMALL, bias=True),
        "The read-ins have a bias, so that a norm no longer hides the size of y: who reaches one "
        "step now?",
        "Figures",
        seeds=5,
    ),
    Preset(
        "1-D, bias",
        "Figure 4 C, with a bias",
        replace(PRODUCTS, bias=True),
        "The tokens hold the products, and the read-ins have a bias: does it change who is there?",
        "Paper's setting",
        seeds=5,
    ),
    Preset(
        "N-D plain",
        "f = 3, N = 5, plain models",
        replace(SMALL, form="plain"),
        "No norm, no feed-forward layers, equal parameters: does the order stay the same?",
        "Beyond the paper",
        seeds=5,
    ),
    Preset(
        "1-D plain",
        "Scalar labels, plain models",
        replace(PRODUCTS, form="plain", parameters=8_000),
        "Open “The step by hand”: a linear transformer of one layer beside the weights that take "
        "the step.",
        "Beyond the paper",
        seeds=5,
    ),
)
