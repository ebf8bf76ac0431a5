"""Words as a sentence."""

import pytest

from icl_core.contract.message import sentence


@pytest.mark.parametrize(
    ("words", "expected"),
    [("there is no X", "There is no X."), ("ICL is 3", "ICL is 3."), ("é", "É.")],
)
def test_words_become_a_sentence(words, expected):
    assert sentence(words) == expected
