"""The paper's texts."""

from icl_core.contract.paper_words import PaperWords

WORDS = PaperWords(__file__)
