"""The atlas of GD-SSMs: how many features and pairs, how many layers, how many decays."""

from icl_core.experiment import Atlas
from icl_core.papers.gdssm.layer.settings import LAYER

ATLAS = Atlas(((LAYER, ("f=3,5,10,20", "N=5,10,20,40", "layers=1,2,3", "recurrence=scalar,row,full")),))
