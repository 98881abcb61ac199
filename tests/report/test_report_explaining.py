from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from flakehound.core.outcomes import NodeId
from flakehound.core.verdicts import Kind, Replay, Verdict
from flakehound.report.formatting import MEANINGS
from flakehound.report.hunt.one_test import explain_text

from . import samples
from .golden import assert_gold


def test_a_nod_test_is_explained_as_agreed() -> None:
    told = explain_text(samples.a_hunt(), samples.nod_by_seed(), samples.failures())

    assert_gold("explain_nod.txt", told + "\n")


def test_every_kind_is_explained_as_agreed() -> None:
    hunted = samples.a_hunt()
    told = [explain_text(hunted, v, []) for v in hunted.verdicts if v.kind is not Kind.STEADY]

    steady = [explain_text(hunted, v, []) for v in hunted.of_kind(Kind.STEADY)[-2:]]
    assert_gold("explain_all.txt", "\n\n----\n\n".join(told + steady) + "\n")


@pytest.mark.parametrize("verdict", samples.a_hunt().verdicts, ids=lambda verdict: verdict.id)
def test_the_first_lines_say_the_kind_and_what_it_means(verdict: Verdict) -> None:
    first, second, *_rest = explain_text(samples.a_hunt(), verdict, []).splitlines()

    assert first.split(maxsplit=1) == [verdict.kind.value.upper(), verdict.id]
    assert second.strip() == MEANINGS[verdict.kind]


def test_the_last_line_is_a_command_that_runs_the_minimal_order() -> None:
    last = explain_text(samples.a_hunt(), samples.victim_of_two(), []).splitlines()[-1]

    assert tuple(shlex.split(last)[-3:]) == samples.victim_of_two().minimal_order


def test_an_example_of_a_signature_nobody_counted_is_shown_too() -> None:
    told = explain_text(samples.a_hunt(), samples.victim(), samples.failures())

    assert "feedbeef, seen 31 times\n  1f00aa22\n    AssertionError in call at tests/test_cart.py:12" in told


def test_a_long_order_is_shortened_and_has_no_plain_command() -> None:
    order = (*(NodeId(f"tests/test_many.py::test_{n}") for n in range(1, 31)), samples.LOGIN)
    long = replace(
        samples.victim(), minimal_order=order, replay=Replay(order=order, failed=1, runs=1), evidence=()
    )

    told = explain_text(samples.a_hunt(), long, [])

    assert "(11 tests before these)\n  12. tests/test_many.py::test_12\n" in told
    assert f"31. {samples.LOGIN}" in told
    assert "-m pytest" not in told
