"""The benchmarks can be run; none is run here, and nothing about time is asserted."""

import inspect
from importlib import import_module

import pytest

from icl_core.papers.birth.shared.task import make_task
from tests.bench import __main__ as bench
from tests.bench import authors, timing


@pytest.mark.parametrize("name", bench.names())
def test_every_benchmark_has_rows(name):
    assert inspect.isgeneratorfunction(import_module(f"tests.bench.bench_{name}").rows)


@pytest.mark.parametrize(
    "loop",
    [
        lambda: authors.birth(make_task(K=2, T=32), d=8, batch=2),
        lambda: authors.memformers(
            d=5, n=4, layers=2, batch=3, eigenvalues=(1.0, 1.0, 0.25, 0.0625, 1.0)
        ),
        lambda: authors.gdssm(f=3, N=4, batch=2),
    ],
    ids=["birth", "memformers", "gdssm"],
)
def test_the_authors_loops_take_steps(loop):
    step = loop()
    step()
    step()


def test_a_row_says_the_ratio_and_both_times():
    assert timing.compared("a step", 0.61, 0.0044) == (
        "a step",
        "140 ×",
        "plain 0.61 s, here 4.4 ms",
    )


def test_ways_take_turns_on_the_same_and_their_first_turn_does_not_count():
    turns = []
    timing.by_turns(
        [lambda at: turns.append(("A", at)), lambda at: turns.append(("B", at))],
        1,
        lambda turn: (turn,),
    )
    assert turns == [("A", 0), ("B", 0), ("A", 1), ("B", 1)]
    assert len(timing.by_turns([int, int], 2)) == 2


def test_every_benchmark_has_its_table():
    text = bench.README.read_text()
    for name in bench.names():
        new = bench.replace_table(text, name, "here, today", ["| a step | 1 s | once |"])
        assert f"here, today\n\n{bench.HEAD}| a step | 1 s | once |\n<!-- end {name} -->" in new
        assert new.count("<!-- bench ") == text.count("<!-- bench ")
    with pytest.raises(ValueError, match="markers of nothing"):
        bench.replace_table(text, "nothing", "", [])
