"""A cache limited by size: it drops the least recently used entries and keeps no exception."""

from threading import Event, Thread

import pytest

from pages.ui.controls.cache import keep_by_size


def test_the_least_recently_used_entry_is_dropped_when_the_limit_is_reached():
    computed = []

    @keep_by_size(10, len)
    def text(name: str, letter: str) -> str:
        computed.append(name)
        return 4 * letter

    assert text("a", "x") == text("a", "other letters are not looked at") == "xxxx"
    text("b", "y")
    text("a", "x")  # used again: b goes first
    text("c", "z")
    assert text("a", "x") == "xxxx" and computed == ["a", "b", "c"]
    text("b", "y")
    assert computed == ["a", "b", "c", "b"]


def test_a_result_larger_than_the_limit_is_returned_and_not_kept():
    computed = []

    @keep_by_size(3, len)
    def text(name: str) -> str:
        computed.append(name)
        return "much too long"

    assert text("a") == text("a") == "much too long" and computed == ["a", "a"]


def test_an_exception_is_not_kept():
    calls = []

    @keep_by_size(10, len)
    def text(name: str) -> str:
        calls.append(name)
        if len(calls) == 1:
            raise LookupError(name)
        return "there"

    with pytest.raises(LookupError):
        text("a")
    assert text("a") == "there" and calls == ["a", "a"]


def test_concurrent_callers_share_one_computation():
    computed = []
    begun = Event()
    go = Event()

    @keep_by_size(10, len)
    def text(name: str) -> str:
        computed.append(name)
        if name == "slow":
            begun.set()
            assert go.wait(60)
        return name

    results = []
    threads = [Thread(target=lambda: results.append(text("slow"))) for _ in range(5)]
    threads[0].start()
    assert begun.wait(60)
    for thread in threads[1:]:
        thread.start()
    assert text("quick") == "quick"
    go.set()
    for thread in threads:
        thread.join(60)
    assert results == 5 * ["slow"] and computed == ["slow", "quick"]
