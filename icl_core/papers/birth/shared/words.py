"""The texts in words.md, of panels that several experiments draw; all numbers are handed in."""

from icl_core.contract.words import Words

WORDS = Words(__file__)
