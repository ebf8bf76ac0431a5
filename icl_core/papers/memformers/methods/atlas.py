"""The atlas of learned methods: how many dimensions, how ill conditioned, how deep, with which memory."""

from dataclasses import replace

from icl_core.experiment import Atlas
from icl_core.papers.memformers.methods.settings import LFOM

SHAPED = replace(LFOM, spectrum="geometric")
MODELS = "variant=linear,cgd,lfom"

ATLAS = Atlas(
    (
        (SHAPED, ("d=5,10", "condition=4,16,64,256", "layers=2,4,6", MODELS)),
        (LFOM, ("d=5,10", "layers=2,4,6", MODELS)),
    )
)
