"""True regressions in real repositories: none is called flaky or unrelated, and none is tolerated."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

import pytest

from .bases import BASES
from .checkouts import CHECKOUTS
from .evidence import EVIDENCE
from .hidden_failures import HIDDEN_FAILURES
from .layouts import LAYOUTS
from .missing_at_base import MISSING_AT_BASE
from .pytest_setups import PYTEST_SETUPS
from .rules import RULES
from .shared_state import SHARED_STATE
from .situation import Situation
from .tolerance import TOLERANCE
from .unseen_files import UNSEEN_FILES
from .unseen_text import UNSEEN_TEXT
from .unsteady_bases import UNSTEADY_BASES
from .wrong_run import WRONG_RUN

REGRESSIONS: list[Situation] = [
    *EVIDENCE, *UNSEEN_FILES, *UNSEEN_TEXT, *WRONG_RUN, *RULES, *BASES, *UNSTEADY_BASES, *TOLERANCE, *LAYOUTS,
    *MISSING_AT_BASE, *SHARED_STATE, *HIDDEN_FAILURES, *CHECKOUTS, *PYTEST_SETUPS,
]  # fmt: skip
PROVABLE = [one for one in REGRESSIONS if one.base_runs and not one.only_code and not one.sometimes]
CLEARED = {"flaky", "unrelated"}
WANTED_SHARE = 0.8  # of the regressions whose base can be run are called likely real


def marked(situation: Situation) -> object:
    """The situation as a parameter; most start several real sessions."""
    marks = [] if situation.quick else [pytest.mark.slow]
    marks += [pytest.mark.chance] if situation.sometimes else []
    return pytest.param(situation, id=f"{situation.group}-{situation.name}", marks=marks)


@pytest.mark.parametrize("situation", [marked(one) for one in REGRESSIONS])
def test_a_regression_is_neither_cleared_nor_tolerated(
    situation: Situation, record_property: Callable[[str, object], None]
) -> None:
    answer = situation.answer()
    record_property("code", answer.code)
    record_property("verdicts", dict(answer.verdicts))

    told = answer.output[-4000:]
    assert answer.code == situation.code, told
    if not situation.only_code:
        assert set(situation.tests) & set(answer.verdicts), told
        assert {name for name in situation.tests if answer.verdicts.get(name) in CLEARED} == set(), told


@pytest.mark.slow
@pytest.mark.parametrize("group", [group for group, _ in groupby(PROVABLE, key=lambda one: one.group)])
def test_most_regressions_of_a_class_are_called_likely_real(group: str) -> None:
    found = {one.name: _share_likely_real(one) for one in PROVABLE if one.group == group}

    assert sum(found.values()) >= WANTED_SHARE * len(found), found


def _share_likely_real(situation: Situation) -> float:
    verdicts = [verdict for name, verdict in situation.answer().verdicts.items() if name in situation.tests]
    return verdicts.count("likely-real") / len(verdicts) if verdicts else 0.0
