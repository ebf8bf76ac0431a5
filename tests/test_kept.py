"""What is computed once for all visitors: by its name, as far as memory allows, and never what went
wrong."""

from threading import Event, Thread

import pytest

from pages.ui.look.sized_cache import keep_by_size


def test_the_least_used_goes_when_there_is_no_more_room():
    made = []

    @keep_by_size(10, len)
    def text(name: str, letter: str) -> str:
        made.append(name)
        return 4 * letter

    assert text("a", "x") == text("a", "other letters are not looked at") == "xxxx"
    text("b", "y")
    text("a", "x")  # used again: b goes first
    text("c", "z")
    assert text("a", "x") == "xxxx" and made == ["a", "b", "c"]
    text("b", "y")
    assert made == ["a", "b", "c", "b"]


def test_what_is_larger_than_all_the_room_is_given_and_not_kept():
    made = []

    @keep_by_size(3, len)
    def text(name: str) -> str:
        made.append(name)
        return "much too long"

    assert text("a") == text("a") == "much too long" and made == ["a", "a"]


def test_a_fault_is_not_kept():
    tried = []

    @keep_by_size(10, len)
    def text(name: str) -> str:
        tried.append(name)
        if len(tried) == 1:
            raise LookupError(name)
        return "there"

    with pytest.raises(LookupError):
        text("a")
    assert text("a") == "there" and tried == ["a", "a"]


def test_who_asks_for_what_is_being_made_waits_for_it_and_others_do_not():
    made, begun, go = [], Event(), Event()

    @keep_by_size(10, len)
    def text(name: str) -> str:
        made.append(name)
        if name == "slow":
            begun.set()
            assert go.wait(60)
        return name

    found = []
    asking = [Thread(target=lambda: found.append(text("slow"))) for _ in range(5)]
    asking[0].start()
    assert begun.wait(60)
    for thread in asking[1:]:
        thread.start()
    assert text("quick") == "quick"
    go.set()
    for thread in asking:
        thread.join(60)
    assert found == 5 * ["slow"] and made == ["slow", "quick"]
