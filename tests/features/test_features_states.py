"""State that a test leaves changed in its process is found, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from probes import write_files

from flakehound.core.plans import Batch, Isolation, Setting
from flakehound.core.state_changes import StateChange
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.suite.open_suite import open_suite

SOURCE = """
    import functools

    REGISTRY = {}
    FLAG = False


    class Cart:
        rate = 1
        items = []


    class Shelf:
        def __init__(self):
            self.books = {"a": [1]}


    SHELF = Shelf()


    def collected(into=[]):
        into.append(1)
        return into


    @functools.lru_cache(maxsize=None)
    def squared(number):
        return number**2
    """

# Test -> its code, and the expected state change: kind, and end of the name.
STATE_CHANGES = {
    "global": ("shop.FLAG = True", "module global", "shop.FLAG"),
    "dict": ("shop.REGISTRY['x'] = 1", "module global", "shop.REGISTRY"),
    "class_attribute": ("shop.Cart.rate = 2", "class attribute", "shop.Cart.rate"),
    "class_list": ("shop.Cart.items.append(1)", "class attribute", "shop.Cart.items"),
    "deep": ("shop.SHELF.books['a'].append(2)", "attribute", "shop.SHELF.books"),
    "default": ("shop.collected()", "module global", "shop.collected"),
    "cache": ("shop.squared(3)", "module global", "shop.squared"),
    "environment": ("os.environ['SHOP'] = '1'", "environment", "SHOP"),
    "folder": ("os.chdir('/')", "working folder", ""),
    "path": ("sys.path.append('/nowhere')", "sys.path", ""),
    "import": ("import wave", "imported module", "wave"),
    "logging": ("logging.getLogger('shop').setLevel(10)", "logging", "shop"),
    "root_logger": ("logging.getLogger().addHandler(logging.NullHandler())", "logging", "root"),
    "signal": ("signal.signal(signal.SIGUSR1, lambda *_: None)", "signal handler", "10"),
    "patch": ("time.sleep = int", "patched attribute", "time.sleep"),
    "patched_class": ("mock.MagicMock.ok = True", "patched class attribute", "unittest.mock.MagicMock.ok"),
    "thread": (
        "threading.Thread(target=time.sleep, args=(9,), daemon=True, name='left').start()",
        "thread",
        "left",
    ),
    "descriptor": ("os.open('/etc/passwd', os.O_RDONLY)", "open descriptor", "/etc/passwd"),
    "project_file": ("open('left.txt', 'w').close()", "project file", "left.txt"),
    "temporary_file": ("tempfile.mkstemp(suffix='.left')", "temporary file", ".left"),
    "far_file": ("open(os.environ['FAR'] + '/left.txt', 'w').close()", "file", "/far/left.txt"),
    "time_zone": ("os.environ['TZ'] = 'Asia/Tokyo'; time.tzset()", "time zone", ""),
    "locale": ("locale.setlocale(locale.LC_ALL, 'C.UTF-8')", "locale", ""),
    "recursion": ("sys.setrecursionlimit(5000)", "interpreter", "recursion limit"),
}
HEAD = """
import locale, logging, os, signal, sys, tempfile, threading, time
from unittest import mock

import pytest

import shop


@pytest.fixture
def cleaned(monkeypatch):
    monkeypatch.setenv("SHOP", "1")
    monkeypatch.setattr(time, "sleep", int)
    monkeypatch.setitem(shop.REGISTRY, "x", 1)


def test_leaves_nothing(cleaned, tmp_path, capsys, caplog):
    print("much")
    logging.getLogger().warning("heard")
    (tmp_path / "file").write_text("x")
    with mock.patch("os.getcwd"):
        assert shop.Cart().rate == 1


class TestKept:
    @classmethod
    def setup_class(cls):
        shop.REGISTRY["class"] = 1

    @classmethod
    def teardown_class(cls):
        del shop.REGISTRY["class"]

    def test_of_a_class(self):
        pass
"""


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    folder = tmp_path_factory.mktemp("states").resolve() / "suite"
    tests = "".join(f"\n\ndef test_{name}():\n    {code}\n" for name, (code, _kind, _end) in STATE_CHANGES.items())
    write_files(folder, {"shop.py": SOURCE, "test_states.py": HEAD + tests})
    target = Target(
        python=sys.executable,
        cwd=folder,
        pytest_args=("-p", "no:cacheprovider"),
        env={"LC_ALL": "C", "FAR": str(folder.parent / "far")},
    )
    (folder.parent / "far").mkdir()
    limits = Limits(test_limit_s=60.0)
    opened = open_suite(target, jobs=1, isolation=Isolation.FORK, hash_seed=0, limits=limits, with_reference=False)
    try:
        plan = Batch(
            orders=tuple((test,) for test in opened.suite.order),
            why="states",
            setting=Setting.ALONE,
            compare_state=True,
        )
        records = opened.pool.run_now(plan, limits)
    finally:
        opened.close()
    assert not [record.failures for record in records if record.failures]
    return {
        record.order[0].rpartition("::")[2].removeprefix("test_"): record.state_traces[0] for record in records
    }


@pytest.mark.parametrize("name", STATE_CHANGES)
def test_a_state_change_is_found(traces, name):
    _code, kind, end = STATE_CHANGES[name]

    left = traces[name].left

    assert any(change.kind == kind and change.name.endswith(end) for change in left), [str(one) for one in left]


def test_a_test_that_cleans_up_leaves_no_state_change(traces):
    assert traces["leaves_nothing"].left == ()


def test_state_of_a_class_fixture_is_found_before_its_teardown(traces):
    assert traces["of_a_class"].left == (StateChange(kind="module global", name="shop.REGISTRY"),)


def test_names_in_the_executed_code_are_mentioned(traces):
    mentions = traces["deep"].mentions

    assert {"shop", "SHELF", "books"} <= mentions
    assert "REGISTRY" not in mentions


SHOP = {
    "state.py": """
        kept = {}
        other = {}

        def welcome(): return True
        def refuse(): return False
        def enter(): return refuse() if "banned" in kept else welcome()
        """,
    "test_shop.py": """
        import state

        def test_victim():
            assert state.enter()

        def test_harmless():
            state.other["x"] = 1

        def test_ban():
            state.kept["banned"] = True

        def test_steady():
            assert 1 + 1 == 2
        """,
}


@pytest.mark.parametrize("option", ["--states", "--quiet"], ids=["compares all tests", "compares polluters"])
def test_a_hunt_names_the_state_that_a_victim_shares_with_its_polluter(tmp_path, option):
    write_files(tmp_path / "shop", SHOP)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # importing them takes most of a small session's time
    hunt = [
        sys.executable,
        "-m",
        "flakehound",
        "hunt",
        option,
        "--quiet",
        "--seed",
        "1",
        "--json",
        "report.json",
    ]

    done = subprocess.run(
        [*hunt, "--technique", "pairwise"],
        cwd=tmp_path / "shop",
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 1, done.stderr
    report = json.loads((tmp_path / "shop" / "report.json").read_text())
    tests = {test["id"].rpartition("::")[2]: test for test in report["tests"]}
    assert tests["test_victim"]["shared_state"] == ["module global state.kept changed"]
    if option == "--states":
        assert tests["test_ban"]["leaves"] == ["module global state.kept changed"]
    assert "shared state: module global state.kept changed" in done.stdout
    difference = "part where the failing one first calls refuse (state.py), the passing one welcome (state.py)"
    assert difference in tests["test_victim"]["evidence"][-1]

    explain = [sys.executable, "-m", "flakehound", "explain", "test_victim"]
    explanation = subprocess.run(
        explain, cwd=tmp_path / "shop", env=env, capture_output=True, text=True, timeout=300, check=False
    ).stdout

    assert "shared with its polluters:\n    module global state.kept changed\n" in explanation
    assert difference in explanation
