"""The dependencies of a test are recorded in a new interpreter; those that may be missing are doubts."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from engine_samples import BARE, HANGING_S, HASH_SEED
from environments import python_with

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation, Setting, SingleRun
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.spawn import RecordedRun, RecordingRequest, Spawner

CALC = {
    "shop/__init__.py": "",
    "shop/cart.py": """
        RATE = 2


        def total(price):
            return price * RATE


        def unused():
            return 0
        """,
    "shop/other.py": "OTHER = 1\n",
    "test_cart.py": """
        from shop.cart import total

        def test_total():
            assert total(2) == 4
        """,
}


def plan_for(*order: str, **options) -> SingleRun:
    return SingleRun(
        order=tuple(map(NodeId, order)),
        why="a test of recording",
        setting=Setting.PROBE,
        isolation=Isolation.SPAWN,
        seed=1,
        hash_seed=HASH_SEED,
        **options,
    )


def record(sample, *order: str, files=None, **limits) -> RecordedRun:
    """Run an order and record its dependencies; `files` are relative to the sample's root."""
    wanted = None if files is None else tuple(sample.root / file for file in files)
    request = RecordingRequest(root=sample.root, files=wanted)
    return sample.spawner.run_recorded(plan_for(*order), Limits(**limits), (), request)


@pytest.fixture
def record_test(open_sample):
    """A function that records the test of one sample, with paths relative to the sample's root."""

    def _record_test(source: str, files=(), **others: str):
        sample = open_sample({"test_it.py": source, **others})
        run = record(sample, files=files)
        assert run.dependencies is not None
        return below(sample.root, run.dependencies), run.records[0].last

    return _record_test


def below(root: Path, told):
    """The same dependencies with paths relative to the root.

    Without files of our own environment: pytest reads those of plugins that happen to be installed in it.
    """

    def short(path):
        return os.path.relpath(path, root) if path and Path(path).is_relative_to(root) else path

    return {
        **told,
        "lines": {short(path): lines for path, lines in told["lines"].items()},
        "imported": {name: short(path) for name, path in told["imported"].items()},
        "opened": [short(path) for path in told["opened"] if not path.startswith(sys.prefix)],
        **{name: [short(path) for path in told[name]] for name in ("listed", "folders", "settings")},
    }


def test_executed_lines_count_import_time_and_leave_out_what_did_not_run(open_sample):
    sample = open_sample(CALC)

    told = below(sample.root, record(sample, files=["shop/cart.py", "shop/other.py"]).dependencies)

    assert told["lines"] == {"shop/cart.py": [2, 5, 6, 9]}
    assert told["doubts"] == []


def test_without_named_files_every_file_below_the_root_is_traced(open_sample):
    sample = open_sample(CALC)

    told = below(sample.root, record(sample).dependencies)

    assert set(told["lines"]) == {"shop/__init__.py", "shop/cart.py", "test_cart.py"}


def test_no_files_means_no_lines_and_the_rest_is_reported(open_sample):
    sample = open_sample(CALC)

    told = below(sample.root, record(sample, files=[]).dependencies)

    assert told["lines"] == {}
    assert told["imported"]["shop.cart"] == "shop/cart.py"
    assert "coverage" not in told["imported"]


def test_a_file_that_the_test_never_loads_has_no_lines(open_sample):
    sample = open_sample(CALC)

    told = below(sample.root, record(sample, files=["shop/other.py"]).dependencies)

    assert told["lines"] == {}
    assert "shop.other" not in told["imported"]


def test_a_module_that_only_the_test_function_imports_is_traced(record_test):
    told, outcome = record_test(
        "def test_it():\n    import late\n    assert late.value() == 1\n",
        files=["late.py"],
        **{"late.py": "def value():\n    return 1\n"},
    )

    assert outcome is Outcome.PASSED
    assert told["lines"] == {"late.py": [1, 2]}


def test_conftest_code_and_code_in_threads_count(record_test):
    told, _outcome = record_test(
        "def test_it(value): assert value == [1]\n",
        files=["conftest.py"],
        **{
            "conftest.py": """
                import threading
                import pytest

                def fill(found):
                    found.append(1)

                @pytest.fixture
                def value():
                    found = []
                    thread = threading.Thread(target=fill, args=(found,))
                    thread.start()
                    thread.join()
                    return found
                """
        },
    )

    assert {6, 10, 14} <= set(told["lines"]["conftest.py"])
    assert told["doubts"] == []


def test_names_that_cannot_be_imported_are_reported_for_every_way_to_import(record_test):
    told, _outcome = record_test(
        """
        import importlib, pkg

        def test_it():
            for name in ("by_function", "pkg.by_function"):
                try:
                    importlib.import_module(name)
                except ImportError:
                    pass
            try:
                import by_statement
            except ImportError:
                pass
            try:
                from pkg import missing
            except ImportError:
                pass
        """,
        **{"pkg/__init__.py": ""},
    )

    assert {"by_function", "pkg.by_function", "by_statement", "pkg.missing", "pkg"} <= set(told["attempted"])


def test_a_module_that_was_removed_from_the_table_is_still_reported(record_test):
    told, _outcome = record_test(
        "import gone, sys\ndel sys.modules['gone']\ndef test_it(): pass\n", **{"gone.py": "X = 1\n"}
    )

    assert told["imported"]["gone"] == "gone.py"


def test_a_file_loaded_without_a_module_is_reported(record_test):
    told, _outcome = record_test(
        """
        import importlib.util, pathlib
        path = pathlib.Path(__file__).parent / "parts" / "plug.py"
        spec = importlib.util.spec_from_file_location("plugin", path)
        plugin = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(plugin)
        def test_it(): assert plugin.value() == 1
        """,
        files=["parts/plug.py"],
        **{"parts/plug.py": "def value():\n    return 1\n"},
    )

    assert told["lines"] == {"parts/plug.py": [1, 2]}
    assert told["imported"]["plugin"] == "parts/plug.py"


def test_two_conftests_of_one_name_are_both_reported(record_test):
    told, _outcome = record_test(
        "def test_it(): pass\n",
        **{"conftest.py": "", "inner/conftest.py": "", "inner/test_inner.py": "def test_inner(): pass\n"},
    )

    assert {"conftest.py", "inner/conftest.py"} <= set(told["imported"].values())


def test_files_that_are_read_are_reported_and_files_that_are_written_are_not(record_test):
    told, outcome = record_test(
        """
        import os, pathlib, sqlite3, pkgutil, pkg

        def test_it(tmp_path):
            here = pathlib.Path(__file__).parent
            (here / "read.txt").read_text()
            open("plain.json").close()
            os.close(os.open(here / "low.bin", os.O_RDONLY))
            sqlite3.connect("some.db").close()
            pkgutil.get_data("pkg", "inner.txt")
            (here / "written.txt").write_text("x")
            (tmp_path / "own").write_text("x")
            (tmp_path / "own").read_text()
            try:
                open("absent.txt")
            except OSError:
                pass
        """,
        **{"read.txt": "", "plain.json": "{}", "low.bin": "", "pkg/__init__.py": "", "pkg/inner.txt": "x"},
    )

    assert outcome is Outcome.PASSED
    assert set(told["opened"]) == {
        *("read.txt", "plain.json", "low.bin", "some.db", "pkg/inner.txt", "absent.txt", "pytest.ini")
    }
    assert told["settings"] == ["pytest.ini"]
    assert {".", "pkg"} <= set(told["folders"])
    assert told["doubts"] == []


def test_sources_that_pytest_reads_for_a_failure_report_are_no_files_of_the_test(record_test):
    told, outcome = record_test(
        """
        import logging, warnings, calc

        def test_it():
            warnings.warn("careful")
            try:
                1 / 0
            except ZeroDivisionError:
                logging.exception("caught")
            calc.fail()
        """,
        **{"calc.py": "def fail():\n    raise ValueError('deep')\n"},
    )

    assert outcome is Outcome.FAILED
    assert told["opened"] == ["pytest.ini"]


@pytest.mark.parametrize(
    "reading",
    [
        "open('calc.py').read()",
        "pathlib.Path('calc.py').read_text()",
        "inspect.getsource(calc.value)",
        "runpy.run_path('calc.py')",
        "exec(open('calc.py').read())",
    ],
)
def test_a_source_that_the_test_reads_itself_is_one_of_its_files(record_test, reading):
    told, outcome = record_test(
        f"import calc, inspect, pathlib, runpy\ndef test_it(): {reading}\n",
        **{"calc.py": "def value():\n    return 1\n"},
    )

    assert outcome is Outcome.PASSED
    assert "calc.py" in told["opened"]


def test_folders_that_are_listed_are_reported_and_those_that_pytest_and_imports_list_are_not(record_test):
    told, _outcome = record_test(
        """
        import glob, os, pathlib

        def test_it():
            os.listdir("a")
            list(os.scandir("b"))
            glob.glob("c/*.txt")
            list(pathlib.Path("d").iterdir())
            list(os.walk("e"))
        """,
        **{f"{folder}/file.txt": "" for folder in "abcde"},
    )

    assert set(told["listed"]) == set("abcde")


def test_links_are_followed_to_the_file_itself(open_sample, tmp_path):
    sample = open_sample(
        {
            "test_it.py": "import linked\ndef test_it(): assert open('link.txt').read() == linked.value()\n",
            "real/data.txt": "x",
            "real/source.py": "def value():\n    return 'x'\n",
        }
    )
    (sample.root / "link.txt").symlink_to("real/data.txt")
    (sample.root / "linked.py").symlink_to("real/source.py")

    told = below(sample.root, record(sample, files=["real/source.py"]).dependencies)

    assert told["lines"] == {"real/source.py": [1, 2]}
    assert "real/data.txt" in told["opened"]


def test_a_root_behind_a_link_and_names_beyond_ascii_are_reported_by_their_real_paths(tmp_path):
    root = tmp_path / "größe * 日本"
    root.mkdir()
    (root / "pytest.ini").write_text("[pytest]\n")
    (root / "modül.py").write_text("def value():\n    return 1\n")
    (root / "test_it.py").write_text("import modül\ndef test_it(): assert modül.value(); open('dätä.txt')\n")
    (root / "dätä.txt").write_text("")
    (tmp_path / "link").symlink_to(root)
    target = Target(python=sys.executable, cwd=tmp_path / "link")

    run = Spawner(target, tmp_path / "ours" / "n").run_recorded(
        plan_for(), Limits(), (), RecordingRequest(root=tmp_path / "link", files=(tmp_path / "link" / "modül.py",))
    )

    assert run.dependencies is not None
    assert run.dependencies["lines"] == {str(root / "modül.py"): [1, 2]}
    assert str(root / "dätä.txt") in run.dependencies["opened"]


DOUBTS = {
    "subprocess": ("subprocess.run(['git', '--version'])", "it started a process: git --version"),
    "os.system": ("os.system('true')", "it started a process: true"),
    "os.fork": ("pid = os.fork() or os._exit(0); os.waitpid(pid, 0)", "it started a process: a copy of itself"),
    "posix_spawn": (
        "os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)",
        "it started a process: true",
    ),
    "multiprocessing": (
        "p = multiprocessing.get_context('spawn').Process(target=print); p.start(); p.join()",
        "it started a process: multiprocessing",
    ),
    "settrace": ("sys.settrace(sys.gettrace()); assert 1", "another tracer took over"),
    "a thread left": ("threading.Thread(target=time.sleep, args=(60,), name='left', daemon=True).start()", "left"),
    "a link to a folder": ("os.symlink(os.path.abspath('folder'), tmp_path / 'link')", "it links to"),
}


@pytest.mark.parametrize("doubtful", DOUBTS)
def test_a_dependency_that_may_be_missing_is_a_doubt(record_test, doubtful):
    if doubtful == "settrace" and sys.version_info >= (3, 12):
        pytest.skip("sys.monitoring has no trace function to lose")
    code, word = DOUBTS[doubtful]
    told, outcome = record_test(
        f"""
        import _thread, multiprocessing, os, subprocess, sys, threading, time
        def test_it(tmp_path):
            {code}
        """,
        files=["test_it.py"],
        **{"folder/file": ""},
    )

    assert outcome is Outcome.PASSED
    assert any(word in doubt for doubt in told["doubts"]), told["doubts"]


def test_a_process_that_project_code_starts_while_it_is_imported_is_a_doubt(record_test):
    told, _outcome = record_test("import subprocess\nsubprocess.run(['true'])\ndef test_it(): pass\n")

    assert told["doubts"] == ["it started a process: true"]


def test_a_service_on_this_machine_is_a_doubt_unless_the_test_serves_it_itself(record_test):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        told, outcome = record_test(
            f"""
            import socket
            def test_it(tmp_path):
                with socket.create_server(("127.0.0.1", 0)) as own:
                    socket.create_connection(own.getsockname()).close()
                socket.create_connection(("127.0.0.1", {port})).close()
            """
        )

    assert outcome is Outcome.PASSED
    assert told["doubts"] == [f"it talks to a service at 127.0.0.1:{port}, which may run the project's code"]


def test_native_code_of_the_project_is_a_doubt(record_test):
    import _heapq

    library = getattr(_heapq, "__file__", None)
    if library is None:
        pytest.skip("this Python has no extension module to copy")
    told, outcome = record_test(
        f"""
        import importlib.util, pathlib, shutil
        copy = pathlib.Path(__file__).with_name({os.path.basename(library)!r})
        shutil.copy({library!r}, copy)
        spec = importlib.util.spec_from_file_location("_heapq", copy)
        native = importlib.util.module_from_spec(spec)
        def test_it(): assert native.heappush
        """
    )

    assert outcome is Outcome.PASSED
    assert any("native code" in doubt for doubt in told["doubts"]), told["doubts"]


def test_without_coverage_the_lines_are_a_doubt(open_sample):
    sample = open_sample(CALC, python=python_with("pytest", version="3.13"))

    told = record(sample, files=["shop/cart.py"]).dependencies

    assert any("could not be traced" in doubt for doubt in told["doubts"])


def test_a_file_that_native_code_opens_is_noticed_when_it_is_watched(open_sample):
    sample = open_sample(
        {
            "test_it.py": """
                import ctypes
                def test_it():
                    libc = ctypes.CDLL(None)
                    libc.close(libc.open(b"native.xml", 0))
                """,
            "native.xml": "",
            "other.xml": "",
        }
    )
    watched = tuple(sample.root / name for name in ("native.xml", "other.xml", "deleted.xml"))
    request = RecordingRequest(root=sample.root, files=(), watched=watched)

    run = sample.spawner.run_recorded(plan_for(), Limits(), (), request)

    assert run.records[0].last is Outcome.PASSED
    assert below(sample.root, run.dependencies)["opened"] == ["native.xml", "pytest.ini"]


def test_a_module_loaded_before_anything_could_be_recorded_counts_as_executed_altogether(open_sample):
    sample = open_sample(
        {
            "site/sitecustomize.py": "import early\n",
            "early.py": "def used():\n    return 1\n",
            "test_it.py": "import early\ndef test_it(): pass\n",
        }
    )
    env = {"PYTHONPATH": f"{sample.root}/site{os.pathsep}{sample.root}"}
    sample.spawner = Spawner(
        Target(python=sys.executable, cwd=sample.root, env=env), sample.folder / "early" / "n"
    )

    told = below(sample.root, record(sample, files=["early.py"]).dependencies)

    assert told["lines"] == {"early.py": [1, 2, 3]}
    assert told["imported"]["early"] == "early.py"


def test_a_project_with_a_module_called_coverage_keeps_it(record_test):
    told, outcome = record_test(
        "import coverage\ndef test_it(): assert coverage.OURS\n",
        files=["coverage.py"],
        **{"coverage.py": "OURS = 1\n"},
    )

    assert outcome is Outcome.PASSED
    assert any("could not be traced" in doubt for doubt in told["doubts"])
    assert told["lines"] == {"coverage.py": [1, 2]}


def test_settings_for_coverage_do_not_interfere_and_stay_for_the_test(open_sample):
    sample = open_sample(
        {
            **CALC,
            ".coveragerc": "[run]\nomit = *\nbranch = true\n",
            "test_cart.py": """
                import os
                from shop.cart import total

                def test_total():
                    assert total(2) == 4
                    assert os.environ["COVERAGE_CORE"] == "pytrace"
                    assert os.environ["COVERAGE_RCFILE"] == ".coveragerc"
                """,
        },
        env={"COVERAGE_RCFILE": ".coveragerc", "COVERAGE_CORE": "pytrace", "COVERAGE_FILE": "mine"},
        pytest_args=["-p", "no:asyncio", "-W", "error"],
    )

    run = record(sample, files=["shop/cart.py"])

    assert run.records[0].last is Outcome.PASSED
    assert below(sample.root, run.dependencies)["lines"] == {"shop/cart.py": [2, 5, 6, 9]}
    assert not (sample.root / "mine").exists()


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [
        ("assert False", Outcome.FAILED),
        ("raise SystemExit(3)", Outcome.FAILED),
        ("pytest.exit('enough')", Outcome.FAILED),
        ("raise KeyboardInterrupt", Outcome.FAILED),
        ("pytest.skip('not today')", Outcome.SKIPPED),
    ],
)
def test_dependencies_are_written_for_every_outcome_of_the_test(record_test, ending, outcome):
    told, seen = record_test(
        f"import pytest\ndef test_it():\n    open('data.txt')\n    {ending}\n", **{"data.txt": ""}
    )

    assert seen is outcome
    assert "data.txt" in told["opened"]


@pytest.mark.parametrize("ending", ["os._exit(0)", "os.kill(os.getpid(), 9)", "time.sleep(60)"])
def test_nothing_is_recorded_of_a_process_that_dies(open_sample, ending):
    sample = open_sample({"test_it.py": f"import os, time\ndef test_it():\n    {ending}\n"})

    run = record(sample, files=[], test_limit_s=HANGING_S)

    assert run.dependencies is None
    assert run.records[0].last.is_failure


def test_a_copy_that_the_test_makes_of_its_process_writes_nothing_over_it(record_test):
    told, _outcome = record_test(
        """
        import os
        def test_it():
            if os.fork() == 0:
                return
            os.wait()
            open("data.txt")
        """,
        **{"data.txt": ""},
    )

    assert "data.txt" in told["opened"]


def test_a_test_that_mocks_files_and_folders_passes_and_is_recorded(record_test):
    told, outcome = record_test(
        """
        import os
        from unittest import mock

        def test_it():
            with mock.patch("os.getcwd") as cwd, mock.patch("os.lstat") as lstat, mock.patch("os.fspath"):
                os.close(os.open("data.txt", os.O_RDONLY))
            assert not cwd.called
            assert not lstat.called
        """,
        files=["test_it.py"],
        **{"data.txt": ""},
    )

    assert outcome is Outcome.PASSED
    assert "data.txt" in told["opened"]


def test_a_suite_that_was_moved_with_what_pytest_compiled_counts_as_executed_altogether(open_sample):
    sample = open_sample({"test_it.py": "def helper():\n    return 1\n\ndef test_it():\n    assert helper()\n"})
    sample.spawn()
    moved = sample.root.with_name("moved")
    sample.root.rename(moved)

    run = Spawner(Target(python=sys.executable, cwd=moved), sample.folder / "again" / "n").run_recorded(
        plan_for(), Limits(), (), RecordingRequest(root=moved, files=(moved / "test_it.py",))
    )

    assert {1, 2, 4, 5} <= set(run.dependencies["lines"][str(moved / "test_it.py")])


@pytest.mark.slow
def test_more_files_than_anybody_can_compare_are_a_doubt(record_test):
    told, _outcome = record_test(
        """
        def test_it():
            for number in range(20_005):
                try:
                    open("absent%d" % number)
                except OSError:
                    pass
        """
    )

    assert len(told["opened"]) == 20_000
    assert any("20000" in doubt for doubt in told["doubts"])


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.8", "3.12", "3.13"])
def test_other_pythons_record_the_same(open_sample, version):
    sample = open_sample(CALC, python=python_with("pytest", "coverage", version=version))

    told = below(sample.root, record(sample, files=["shop/cart.py"]).dependencies)

    assert told["lines"] == {"shop/cart.py": [2, 5, 6, 9]}
    assert told["imported"]["shop.cart"] == "shop/cart.py"
    assert told["opened"] == ["pytest.ini"]
    assert told["doubts"] == []


def test_the_last_test_of_an_order_starts_from_a_given_random_state(open_sample, tmp_path):
    generator = random.Random(42)
    expected = random.Random(42).random()
    version, numbers, gauss = generator.getstate()
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"random": [version, list(numbers), gauss], "numpy": None, "seed": None}))
    sample = open_sample(
        {
            "test_it.py": textwrap.dedent(
                f"""
                import pytest, random

                @pytest.fixture(autouse=True)
                def drawn():
                    return random.random()

                def test_before(drawn): assert drawn != {expected!r}
                def test_it(drawn): assert drawn == {expected!r}
                """
            )
        }
    )
    target = Target(python=sys.executable, cwd=sample.root, random_state=state, env=BARE)

    records, _suite = Spawner(target, tmp_path / "more" / "n").run_single(plan_for(), Limits(), ())

    assert records[0].outcomes == (Outcome.PASSED, Outcome.PASSED)


def test_a_test_that_pytest_randomly_seeds_draws_the_same_numbers_again(open_sample, tmp_path):
    pytest.importorskip("pytest_randomly")
    version, numbers, gauss = random.getstate()
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"random": [version, list(numbers), gauss], "numpy": None, "seed": 7}))
    sample = open_sample(
        {
            "test_it.py": """
                import os, pytest, random

                def draw():
                    with open(os.environ["DRAWN"], "a") as file:
                        print(random.random(), file=file)

                @pytest.fixture
                def drawing():
                    draw()
                    yield
                    draw()

                def test_it(drawing): draw()
                """
        }
    )
    env = {"DRAWN": str(tmp_path / "again")}
    target = Target(
        python=sys.executable,
        cwd=sample.root,
        random_state=state,
        pytest_args=("-p", "randomly"),
        env={**BARE, **env},
    )

    Spawner(target, tmp_path / "more" / "n").run_single(plan_for(), Limits(), ())
    command = [sys.executable, "-m", "pytest", "-p", "randomly", "-p", "no:cacheprovider", "--randomly-seed=7"]
    first = {**os.environ, **BARE, "DRAWN": str(tmp_path / "first")}
    subprocess.run(command, cwd=sample.root, env=first, check=True)

    assert (tmp_path / "again").read_text() == (tmp_path / "first").read_text()
