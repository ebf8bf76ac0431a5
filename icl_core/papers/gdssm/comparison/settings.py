"""The settings of the comparison with other sequence models, and what is drawn of it."""

from icl_core.experiment import Preset
from icl_core.knobs import settings, toggle
from icl_core.papers.gdssm.shared.sequence_models.settings import Config


@settings
class View:
    """What is drawn of the comparison."""

    single_seeds: bool = toggle("single seeds", default=False)


PRESETS = (
    Preset("classroom", "1-D, a quick look", Config(),
           "In half a minute: with the products given, most models come near.", seeds=5),
    Preset("1-D", "Figure 4 C: scalar labels", Config(f=10, N=10, steps=3000, tuning=1000),
           "The tokens hold the products, ten of them: who gets there?", "Figures", seeds=5),
    Preset("N-D", "Figure 6 on smaller tasks", Config(model="N-D", f=3, steps=5000, tuning=5000),
           "The products are to be learned. Look at single seeds of the transformers of two layers.", "Figures",
           seeds=5),
    Preset("paper size", "Figure 6 at the paper's f and N", Config(model="N-D", f=10, N=10, steps=3000, tuning=1000),
           "The paper's tasks, for a hundredth of its steps: who has left predicting zero?", "Paper's setting",
           seeds=5),
)  # fmt: skip
