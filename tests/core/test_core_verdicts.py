"""Kinds, causes, exit codes and errors: other tools rely on their values."""

from __future__ import annotations

import pytest

from flakehound.core.errors import ExitCode, FlakehoundError, UsageError
from flakehound.core.verdicts import Cause, Kind


def test_the_kinds_are_the_ones_of_the_contract():
    kinds = {kind.value for kind in Kind}

    assert kinds == {"nod", "victim", "brittle", "non-idempotent", "steady", "failing", "unresolved"}


@pytest.mark.parametrize("kind", Kind)
def test_only_proven_kinds_are_flaky(kind):
    assert kind.is_flaky == (kind in (Kind.NOD, Kind.VICTIM, Kind.BRITTLE, Kind.NON_IDEMPOTENT))


def test_the_causes_are_the_ones_of_the_contract():
    causes = " ".join(cause.value for cause in Cause)

    assert causes == (
        "async-wait concurrency randomness network time io unordered-collection floating-point "
        "resource-leak test-order environment"
    )


def test_the_exit_codes_are_the_ones_of_the_contract():
    assert [code.value for code in ExitCode] == [0, 1, 2, 3, 130]


def test_the_exit_code_of_an_error_is_that_of_an_unusable_suite_by_default():
    assert FlakehoundError("it broke").exit_code is ExitCode.SUITE_UNUSABLE
    assert UsageError("it cannot be").exit_code is ExitCode.USAGE


def test_an_error_carries_what_happened_and_its_remedy():
    error = FlakehoundError("it broke", remedy="mend it", detail="evidence")

    assert (str(error), error.what, error.remedy, error.detail) == ("it broke", "it broke", "mend it", "evidence")
