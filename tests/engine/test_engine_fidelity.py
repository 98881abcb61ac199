"""A forked run and a spawned run say what plain pytest says, and set up what plain pytest sets up."""

from __future__ import annotations

import pytest
from engine_samples import outcomes_of
from fidelity_sources import DYNAMIC, ENDINGS, FIXTURES, SUBTESTS

from flakehound.core.outcomes import Outcome

_PASSED = Outcome.PASSED


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(ENDINGS, id="endings"),
        pytest.param(SUBTESTS, id="subtests"),
        pytest.param(DYNAMIC, id="dynamic"),
    ],
)
def test_every_outcome_is_what_plain_pytest_calls_it(open_sample, files):
    sample = open_sample(files, pytest_args=["--doctest-modules"])

    plain = sample.plain()

    assert len(plain) > 5
    assert outcomes_of(sample.fork(*sample.ids)) == plain
    assert outcomes_of(sample.spawn()) == plain


def log_of_run(sample, run):
    """What the sample's fixtures wrote while `run` went on."""
    log = sample.root / "log"
    log.unlink(missing_ok=True)
    run()
    return log.read_text().splitlines()


def test_fixtures_of_every_scope_come_and_go_as_under_plain_pytest(open_sample):
    sample = open_sample(FIXTURES)
    order = sample.ids

    plain = log_of_run(sample, sample.plain)

    assert len(plain) > 60
    assert log_of_run(sample, lambda: sample.fork(*order)) == plain
    assert log_of_run(sample, sample.spawn) == plain


@pytest.mark.parametrize("step", [5, 7])
def test_another_order_is_what_plain_pytest_does_with_these_arguments(open_sample, step):
    sample = open_sample(FIXTURES, pytest_args=["-p", "keep_order"])
    order = [sample.ids[place * step % len(sample.ids)] for place in range(len(sample.ids))]
    assert len(set(order)) == len(order)

    plain = log_of_run(sample, lambda: sample.plain(*order))

    assert log_of_run(sample, lambda: sample.fork(*order)) == plain
    assert log_of_run(sample, lambda: sample.spawn(*order)) == plain


def test_a_pair_in_reverse_is_what_plain_pytest_does_with_it(open_sample):
    sample = open_sample(
        {
            "test_pair.py": """
                state = []
                def test_a(): state.append("a")
                def test_b(): assert not state
                """
        }
    )
    first, second = sample.ids

    assert outcomes_of(sample.fork(first, second)) == sample.plain(first, second)
    assert outcomes_of(sample.fork(second, first)) == sample.plain(second, first)


@pytest.mark.parametrize("env", [{}, {"PYTHONSAFEPATH": "1"}], ids=["usual", "safe path"])
def test_a_test_sees_the_same_process_as_under_plain_pytest(open_sample, env):
    sample = open_sample(
        {
            "test_seen.py": """
                import gc, json, multiprocessing, os, signal, sys, threading, types
                def test_seen(capfd, tmp_path, request):
                    main = sys.modules["__main__"]
                    seen = {
                        "main": [main.__file__, main.__spec__.name],
                        "argv0": sys.argv[0],
                        "path": [entry for entry in sys.path if not entry.endswith("tests/engine")],
                        "threads": threading.active_count(),
                        "signals": [str(signal.getsignal(n)) for n in (2, 13, 15, 17, 1, 10, 12)],
                        "stdin": os.readlink("/proc/self/fd/0"),
                        "modules that gc knows": sum(
                            isinstance(o, types.ModuleType) and o.__name__ == "test_seen" for o in gc.get_objects()
                        ),
                        "gc": [gc.isenabled(), gc.get_threshold()],
                        "cwd": os.getcwd(),
                        "limit": sys.getrecursionlimit(),
                        "tmp": tmp_path.name,
                        "umask": os.umask(0o022),
                    }
                    with open("seen.json", "w") as file:
                        json.dump(seen, file)
                def work(): pass
                def test_a_spawned_worker_can_import_the_main_module():
                    worker = multiprocessing.get_context("spawn").Process(target=work)
                    worker.start()
                    worker.join()
                    assert worker.exitcode == 0
                """
        },
        env=env,
    )
    seen = sample.root / "seen.json"

    assert set(sample.plain().values()) == {_PASSED}
    plain = seen.read_text()

    assert sample.fork(*sample.ids).outcomes == (_PASSED, _PASSED)
    assert seen.read_text() == plain
    assert sample.spawn().outcomes == (_PASSED, _PASSED)
    assert seen.read_text() == plain
