"""The user's own options: what changes orders, repeats, spreads or reports is switched off and named."""

from __future__ import annotations

import pytest
from engine_samples import WITH_PLUGINS, outcomes_of

from flakehound.core.outcomes import Outcome
from flakehound.engine.processes.handshake import SuiteUnusable

TESTS = """
    import logging, random, warnings
    import pytest
    def test_first(): logging.getLogger("sample").warning("first")
    def test_fails(): assert False
    def test_warns(): warnings.warn("careful")
    def test_also_fails(): assert False
    def test_last(): pass
    @pytest.mark.parametrize("n", range(5))
    def test_many(n): pass
    """


def ini(*options: str, **settings: str) -> str:
    lines = [f"addopts = {' '.join(options)}", *(f"{name} = {value}" for name, value in settings.items())]
    return "[pytest]\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["-x", "--ff", "--nf", "-n", "2"], ["--maxfail", "--failedfirst", "--newfirst", "--numprocesses"]),
        pytest.param(
            ["-n", "2", "--dist", "loadscope", "-p", "randomly", "-p", "xdist"],
            ["pytest-randomly", "pytest-xdist"],
            marks=pytest.mark.slow,
        ),
        (["--maxfail=1", "--lf", "--sw"], ["--maxfail", "--lf", "--stepwise"]),
        pytest.param(
            ["--sw-skip", "--pdb", "--capture=tee-sys"], ["--stepwise-skip", "--usepdb"], marks=pytest.mark.slow
        ),
        (["-p", "no:asyncio", "-W", "error", "--capture=sys", "--basetemp=own"], []),
        pytest.param(["-p", "no:terminal"], [], marks=pytest.mark.slow),
        (["-p", "no:cacheprovider", "-p", "no:legacypath", "-p", "no:doctest", "-p", "no:unittest"], []),
        pytest.param(["--setup-show", "-vv", "--durations=3", "--tb=line", "-rA"], [], marks=pytest.mark.slow),
    ],
    ids=" ".join,
)
def test_options_in_the_projects_file_change_no_outcome(open_sample, options, named):
    # All installed plugins take most of a session's time: only where the options are theirs.
    env = WITH_PLUGINS if "-n" in options else {}
    sample = open_sample({"pytest.ini": ini(*options), "test_it.py": TESTS}, env=env)
    expected = {
        test: Outcome.FAILED if "fails" in test or ("warns" in test and "error" in options) else Outcome.PASSED
        for test in sample.ids
    }

    forked = outcomes_of(sample.fork(*sample.ids))
    spawned = outcomes_of(sample.spawn())

    assert len(expected) == 10
    assert list(expected) == sorted(expected, key=SOURCE_ORDER.index)
    assert forked == expected
    assert spawned == expected
    assert set(named) <= set(sample.handshake.switched_off)
    assert not (sample.root / "own").exists()


SOURCE_ORDER = [
    *(f"test_it.py::test_{name}" for name in ("first", "fails", "warns", "also_fails", "last")),
    *(f"test_it.py::test_many[{n}]" for n in range(5)),
]


def test_live_logs_change_no_outcome(open_sample):
    sample = open_sample({"pytest.ini": ini(log_cli="true", log_cli_level="DEBUG"), "test_it.py": TESTS})

    assert outcomes_of(sample.fork(*sample.ids)) == sample.plain() == outcomes_of(sample.spawn())


def test_no_report_of_the_user_is_written_or_overwritten(open_sample):
    reports = {"report.xml": "kept", "run.log": "kept"}
    options = ["--junitxml=report.xml", "--log-file=run.log"]
    sample = open_sample({"pytest.ini": ini(*options), "test_it.py": TESTS, **reports})

    forked = sample.fork(*sample.ids)
    spawned = sample.spawn()
    sample.close()

    assert forked.executed == spawned.executed == 10
    assert sample.handshake.against_forking == ()
    assert {name: (sample.root / name).read_text() for name in reports} == reports


def test_no_report_of_the_user_is_overwritten_by_a_collection_that_fails(open_sample):
    sample = open_sample(
        {
            "pytest.ini": ini("--junitxml=report.xml"),
            "test_broken.py": "import nothing_of_this_name",
            "report.xml": "kept",
        }
    )

    with pytest.raises(SuiteUnusable) as caught:
        sample.spawn()
    with pytest.raises(SuiteUnusable):
        _ = sample.server

    assert "nothing_of_this_name" in caught.value.detail
    assert (sample.root / "report.xml").read_text() == "kept"


@pytest.mark.parametrize("where", ["arguments", "file"])
def test_a_suite_may_go_on_although_a_module_cannot_be_collected(open_sample, where):
    option = "--continue-on-collection-errors"
    sample = open_sample(
        {
            "pytest.ini": ini(*([option] if where == "file" else [])),
            "test_broken.py": "import nothing_of_this_name",
            "test_good.py": "def test_good(): pass",
        },
        pytest_args=[option] if where == "arguments" else [],
    )

    assert sample.ids == ("test_good.py::test_good",)
    assert sample.fork(*sample.ids).outcomes == (Outcome.PASSED,)
    assert sample.spawn().outcomes == (Outcome.PASSED,)


def test_the_last_run_that_pytest_remembers_stays_as_it_was(open_sample):
    sample = open_sample({"test_it.py": TESTS})
    cached = sample.root / ".pytest_cache/v/cache/lastfailed"
    cached.parent.mkdir(parents=True)
    cached.write_text('{"test_it.py::test_last": true}')

    sample.fork(*sample.ids)
    sample.spawn()
    sample.close()

    assert cached.read_text() == '{"test_it.py::test_last": true}'


def test_fixtures_and_marks_of_plugins_that_are_switched_off_still_exist(open_sample):
    sample = open_sample(
        {
            "pytest.ini": ini("--strict-markers", "-n", "2"),
            "test_it.py": """
                import pytest
                @pytest.mark.xdist_group("a")
                def test_worker(worker_id, testrun_uid): assert worker_id == "master"
                """,
            "conftest.py": """
                import pytest
                def pytest_xdist_auto_num_workers(config): return 2
                @pytest.hookimpl(optionalhook=True)
                def pytest_configure_node(node): pass
                """,
        },
        env=WITH_PLUGINS,
    )

    assert sample.fork(*sample.ids).outcomes == (Outcome.PASSED,)
    assert sample.spawn().outcomes == (Outcome.PASSED,)


def test_one_id_that_comes_twice_is_one_test(open_sample):
    sample = open_sample(
        {
            "conftest.py": """
                def pytest_collection_modifyitems(items): items[:] = items * 2
                """,
            "test_it.py": "def test_a(): pass\ndef test_b(): assert False\n",
        }
    )

    assert sample.ids == ("test_it.py::test_a", "test_it.py::test_b")
    assert sample.fork(*sample.ids).outcomes == (Outcome.PASSED, Outcome.FAILED)
    assert sample.spawn().outcomes == (Outcome.PASSED, Outcome.FAILED)
