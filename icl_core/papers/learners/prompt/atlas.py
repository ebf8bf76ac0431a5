"""The atlas of one prompt: learners tuned for the homes that the main sliders lead to, so that
these answer at once."""

from icl_core.contract.experiment import Atlas
from icl_core.papers.learners.prompt.settings import PRESETS

HOME = PRESETS[0].config
ATLAS = Atlas(
    (
        (HOME, ("d=1,2,3,4,5,6,8", "n=5,10,20")),
        (HOME, ("n=2,40",)),
        (HOME, ("noise=0,0.1,0.2,0.5,1,2",)),
        (HOME, ("steps=1,2,4,8,16",)),
        (HOME, ("condition=16,64,256",)),
        (HOME, ("covariance=isotropic,uneven",)),
        (HOME, ("rotated=true",)),
        (HOME, ("target=inverse",)),
    )
)
