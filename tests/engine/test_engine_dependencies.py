"""The dependencies of a test are recorded in a new interpreter; those that may be missing are doubts."""

from __future__ import annotations

import sys

import pytest
from dependency_samples import CALC, below, plan_for, record

from flakehound.core.outcomes import Outcome
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.spawn import RecordingRequest, Spawner


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
