"""The atlas of induction heads: how wide, how many triggers, how long, how many layers."""

from icl_core.experiment import Atlas
from icl_core.papers.birth.induction.settings import FASTEST

ATLAS = Atlas(((FASTEST, ("d=16,32,64,128", "K=1,3,5", "T=32,64,128", "layers=1,2")),))
