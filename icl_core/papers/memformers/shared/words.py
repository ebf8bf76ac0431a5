"""The texts of what several experiments draw."""

from icl_core.contract.words import Words

WORDS = Words(__file__)
