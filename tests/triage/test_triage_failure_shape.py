"""The same failure is recognised in two revisions, and another one behind it is not overlooked."""

from __future__ import annotations

from flakehound.core.records import Failure
from flakehound.triage.failure_shape import shape_of, values_of
from flakehound_inside.recorder import LATER_FAILURE

TEXT = "    def test_total():\n>       assert total([1]) == 1\nE       assert 2 == 1\n"


def failure(message: str = "assert 2 == 1", text: str = TEXT) -> Failure:
    where = "tests/test_cart.py:4"
    return Failure(phase="call", exception="AssertionError", message=message, where=where, text=text)


def test_values_do_not_change_the_shape():
    assert shape_of(failure("assert 3 == 1")) == shape_of(failure())


def test_a_later_failure_of_the_same_run_changes_the_shape():
    later = f"{TEXT}\n{LATER_FAILURE}teardown: ValueError ====\n>       close()\nE       ValueError\n"
    other = later.replace("close()", "stop()")

    assert len({shape_of(failure()), shape_of(failure(text=later)), shape_of(failure(text=other))}) == 3


def test_values_are_compared_without_paths_and_addresses():
    here = values_of(failure("no /home/me/shop/a.txt for <Cart at 0x7fc3b4cb3420>: 3"))

    assert values_of(failure("no /tmp/fh-1/tree/shop/a.txt for <Cart at 0x1>: 3")) == here
    assert values_of(failure("no /home/me/shop/a.txt for <Cart at 0x7fc3b4cb3420>: 4")) != here
