"""Characteristic functions, a user's own ones, and the causes that their calls suggest."""

from __future__ import annotations

import pytest
from calls_samples import a_site, a_trace, c, python

from flakehound.calls.causes import call_difference, likely_causes
from flakehound.calls.characteristic_functions import (
    ASSIGNED_CAUSES,
    assigned_cause,
    default_functions,
    manual_selection,
)
from flakehound.calls.name_patterns import matches_name, pattern_from
from flakehound.calls.settings import InvalidCallSettings, with_settings
from flakehound.core.calls import Function
from flakehound.core.verdicts import Cause

SLEEP, NOW = c("time", "sleep"), c("datetime", "now", "datetime")
THREADING = "/usr/lib/python3.11/threading.py"


@pytest.mark.parametrize(
    ("function", "cause"),
    [
        (python("wait", "Condition", THREADING), Cause.ASYNC_WAIT),
        (python("shuffle", "Random", "/usr/lib/python3.11/random.py"), Cause.RANDOMNESS),
        (c("_random", "random", "Random"), Cause.RANDOMNESS),
        (c("numpy.random.mtrand", "randn", "RandomState"), Cause.RANDOMNESS),
        (python("__init__", "socket", "/usr/lib/python3.11/socket.py"), Cause.NETWORK),
        (python("create_connection", file="/usr/lib/python3.11/socket.py"), Cause.NETWORK),
        (NOW, Cause.TIME),
        (c("io", "open"), Cause.IO),
        (c("_thread", "start_new_thread"), Cause.CONCURRENCY),
        (SLEEP, None),
        (c("builtins", "len"), None),
    ],
)
def test_the_manual_selection_is_that_of_the_source(function, cause):
    assert manual_selection().cause_of(function) is cause


@pytest.mark.parametrize(
    ("function", "cause"),
    [
        (c("numpy.random._generator", "normal", "Generator"), Cause.RANDOMNESS),
        (python("token_hex", file="/usr/lib/python3.12/secrets.py"), Cause.RANDOMNESS),
        (python("uuid4", file="/usr/lib/python3.12/uuid.py"), Cause.RANDOMNESS),
        (python("sleep", file="/usr/lib/python3.12/asyncio/tasks.py"), Cause.ASYNC_WAIT),
        (
            python("submit", "ThreadPoolExecutor", "/usr/lib/python3.12/concurrent/futures/thread.py"),
            Cause.CONCURRENCY,
        ),
        (python("send", "Client", "/v/site-packages/httpx/_client.py"), Cause.NETWORK),
        (python("request", "Session", "/v/site-packages/requests/sessions.py"), Cause.NETWORK),
        (python("urlopen", "HTTPConnectionPool", "/v/site-packages/urllib3/connectionpool.py"), Cause.NETWORK),
        (c("time", "time"), Cause.TIME),
        (c("time", "monotonic"), Cause.TIME),
        (c("time", "perf_counter"), Cause.TIME),
        (c("posix", "listdir"), Cause.UNORDERED_COLLECTION),
        (c("posix", "scandir"), Cause.UNORDERED_COLLECTION),
        (c("gc", "collect"), Cause.RESOURCE_LEAK),
        (c("numpy", "dot"), Cause.FLOATING_POINT),
        (python("sleep", file="shop/tasks.py"), None),
        (python("send", "Client", "shop/mail.py"), None),
    ],
)
def test_the_default_functions_include_those_that_todays_code_uses(function, cause):
    assert default_functions().cause_of(function) is cause


def test_the_table_of_assigned_causes_has_all_rows():
    # Table A.4 has 58 rows, 20 of them without a cause.
    assert sum(len(texts) for texts in ASSIGNED_CAUSES.values()) == 58
    assert len(ASSIGNED_CAUSES[None]) == 20
    assert assigned_cause(c("builtins", "encode", "str")) is Cause.NETWORK
    assert assigned_cause(c("builtins", "replace", "str")) is None


def test_a_class_may_be_a_wildcard_but_a_function_of_a_module_has_none():
    anything = pattern_from("shop.api:*.fetch")

    assert matches_name(anything, python("fetch", "Client", "src/shop/api.py"))
    assert matches_name(anything, python("fetch", "Other", "src/shop/api/remote.py"))
    assert not matches_name(anything, python("fetch", "", "src/shop/api.py"))
    assert not matches_name(anything, python("fetch", "Client", "src/shop/api_old.py"))


def test_a_user_adds_functions_and_neutral_modules():
    table = {"functions": {"network": ["shop.api:Client.*"], "time": ["tick"]}, "neutral": ["shop.metrics"]}

    known = with_settings(default_functions(), table)

    assert known.cause_of(python("fetch", "Client", "src/shop/api.py")) is Cause.NETWORK
    assert known.cause_of(python("tick")) is Cause.TIME
    assert "shop.metrics" in known.neutral
    assert known.cause_of(SLEEP) is Cause.ASYNC_WAIT


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"function": {}}, "'function' is not a setting"),
        ({"functions": {"luck": ["x"]}}, "'luck' is not a cause"),
        ({"functions": {"time": ["a b"]}}, "no function: 'a b'"),
        ({"functions": {"time": "x"}}, "'time' must be a list"),
        ({"functions": ["x"]}, "must be a table"),
        ({"neutral": [1]}, "'neutral' must be a list"),
    ],
)
def test_an_invalid_setting_is_an_error(table, words):
    with pytest.raises(InvalidCallSettings, match=words):
        with_settings(default_functions(), table)


def test_the_evidence_for_a_cause_has_the_line_that_leads_to_the_call():
    trace = a_trace(call_sites=[a_site(c("io", "open"), line=3), a_site(SLEEP, "tests/helpers.py", 12)])

    causes = likely_causes([trace], default_functions())

    assert [(one.cause, one.evidence) for one in causes] == [
        (Cause.ASYNC_WAIT, "calls time.sleep at tests/helpers.py:12 in test_total"),
        (Cause.IO, "calls open at tests/test_cart.py:3 in test_total"),
    ]


def test_calls_of_a_fixture_come_after_calls_of_the_test():
    trace = a_trace(call_sites=[a_site(NOW, line=1, phase="setup"), a_site(c("time", "time"), line=9)])

    (cause,) = likely_causes([trace], default_functions())

    assert cause.evidence == "calls time.time at tests/test_cart.py:9 in test_total; and 1 more"


def test_a_test_that_calls_nothing_characteristic_has_no_causes():
    assert likely_causes([a_trace(c("builtins", "len"))], default_functions()) == ()


LOAD, RETRY, SHOW = python("load"), python("retry"), python("_saferepr", file="/v/_pytest/assertion/util.py")


@pytest.mark.parametrize(
    ("passing", "failing", "words"),
    [
        ([LOAD, RETRY], [LOAD], "part at retry (shop/cart.py), which only the passing one calls"),
        ([LOAD], [LOAD, RETRY], "part at retry (shop/cart.py), which only the failing one calls"),
        ([LOAD, SLEEP], [RETRY, SLEEP], "the failing one first calls retry (shop/cart.py), the passing one load"),
        ([LOAD, SLEEP], [RETRY, LOAD, SLEEP], "part at retry (shop/cart.py), which only the failing one calls"),
    ],
)
def test_the_difference_of_two_runs_is_the_first_function_that_differs(
    passing: list[Function], failing: list[Function], words
):
    found = call_difference(a_trace(*passing), a_trace(*failing))

    assert found is not None
    assert words in found.text


def test_functions_that_show_a_failure_are_no_difference():
    assert call_difference(a_trace(LOAD), a_trace(LOAD, SHOW)) is None
