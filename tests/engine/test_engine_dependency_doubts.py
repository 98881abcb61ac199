"""When recorded dependencies are in doubt, and recording in processes of every sort."""

from __future__ import annotations

import os
import socket
import sys

import pytest
from dependency_samples import CALC, below, plan_for, record
from engine_samples import HANGING_S
from environments import python_with

from flakehound.core.outcomes import Outcome
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.spawn import RecordingRequest, Spawner

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
    "ctypes": ("import ctypes; ctypes.CDLL(None).getpid()", "it calls native code by ctypes"),
    "shared memory": ("from multiprocessing import shared_memory", "shared memory"),
    "a port in use": (
        "a = socket.socket(); a.bind(('127.0.0.1', 0)); a.listen(); port = a.getsockname()[1]; a.detach(); "
        "socket.socket().bind(('127.0.0.2', port))",
        "which another process uses",
    ),
    "a link to a folder": ("os.symlink(os.path.abspath('folder'), tmp_path / 'link')", "it links to"),
}


@pytest.mark.parametrize("doubtful", DOUBTS)
def test_a_dependency_that_may_be_missing_is_a_doubt(record_test, doubtful):
    if doubtful == "settrace" and sys.version_info >= (3, 12):
        pytest.skip("sys.monitoring has no trace function to lose")
    code, word = DOUBTS[doubtful]
    told, outcome = record_test(
        f"""
        import _thread, multiprocessing, os, socket, subprocess, sys, threading, time
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
