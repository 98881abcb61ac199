"""The pytest plugin that an installed flakehound registers: only options, until one of them is used."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal

    import pytest

# Help by option without its prefix. Each option is also a setting of pytest.ini and an environment variable.
_FLAGS = {
    "": "when tests fail, rerun them and say which failures are flaky and which your change has caused",
    "no-intersect": "do not compare failing tests with the base of the change; every verdict is undecided",
    "check-base": "no effect: failing tests always run at the base, too, where that can decide",
    "tolerate": "exit with 0 when every failure of a complete run is proven flaky or broken before your change",
}
_NUMBERS = {
    "immediate": "rerun a failing test N times directly after its failure, in the same process (default: 1)",
    "postponed": "rerun it N times after the last test, in the same process (default: 1)",
    "forked": "rerun it N times in new processes first, at least 3 (default: 3); 0: never",
}
_TEXTS = {
    "threshold": (
        "SHARE",
        "rerun nothing more once a larger share of the tests has failed, for example 1%% or 0.01; up to 10 "
        "failures are always rerun (default: 1%%)",
    ),
    "since": (
        "BASE",
        "the commit that your change starts from (default: what the environment of your CI names, else the merge "
        "base with the default branch, else the last commit); or a folder, an sdist or a wheel with the "
        "project before your change",
    ),
    "time": ("SECONDS", "the time for the verdicts on all failures, for example 90, 90s or 2m (default: 60)"),
    "json": ("FILE", "also write the verdicts to FILE, as flakehound/triage/1"),
    "store": ("PATH", "the file that keeps outcomes from run to run (default: .flakehound/flakehound.db)"),
}

# The modules that the triage of a passing run imports; each comes after those that it imports itself.
_GREEN_RUN_MODULES = (
    "isolated",
    "random_seeds",
    "triage",
    "triage.random_generators",
    "triage.own_errors",
    "triage.journal",
    "triage.listener",
    "triage.options",
    "triage.git_state",
    "triage.pending_runs",
    "triage.session",
)


def __dir__() -> list[str]:
    # pytest inspects every name of a plugin, several times.
    return ["pytest_addoption", "pytest_collection_finish", "pytest_configure"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options; nothing is imported or registered until one of them is used."""
    group = parser.getgroup("flakehound", "flaky tests")
    for name, text in _FLAGS.items():
        group.addoption(_option(name), action="store_true", default=None, help=text)
        parser.addini(_setting(name), _ini_help(name, text), type="bool", default=None)
    for name, text in _NUMBERS.items():
        group.addoption(_option(name), metavar="N", default=None, help=text)
        parser.addini(_setting(name), _ini_help(name, text), type=_ini_type_of_number(), default=None)
    for name, (metavar, text) in _TEXTS.items():
        group.addoption(_option(name), metavar=metavar, default=None, help=text)
        parser.addini(_setting(name), _ini_help(name, text), default=None)
    group.addoption(
        "--flakehound-seed",
        type=int,
        default=None,
        metavar="SEED",
        help="seed random, numpy and hypothesis as a run of `flakehound hunt` did, to replay its failure; with "
        "--flakehound, the seed that the seeds of reruns are counted from",
    )


def _option(name: str) -> str:
    return "--flakehound-" + name if name else "--flakehound"


def _setting(name: str) -> str:
    return _option(name)[2:].replace("-", "_")


def _ini_type_of_number() -> Literal["int"] | None:
    # pytest 9 rejects a number in TOML unless the setting has this type, which versions before 8.4 do not know.
    import pytest

    return "int" if getattr(pytest, "version_tuple", (6,)) >= (8, 4) else None


def _ini_help(name: str, text: str) -> str:
    return "as %s, and as %s in the environment: %s" % (
        _option(name),
        _setting(name).upper(),
        text.replace("%%", "%"),
    )


def pytest_configure(config: pytest.Config) -> None:
    """Start the triage if it is requested, except in processes that a hunt or a triage has started."""
    if "flakehound_inside.worker.boot" in sys.modules or not _may_be_requested(config):
        return
    _import_without_rewriting()
    from flakehound_inside.triage.options import read_options

    options = read_options(config, os.environ)
    if options is not None:
        from flakehound_inside.triage.own_errors import OwnErrors

        with OwnErrors(config):
            from flakehound_inside.triage.session import TriageSession

            config.pluginmanager.register(TriageSession(config, options), "flakehound-triage")


def _import_without_rewriting() -> None:
    """Import the modules without pytest's assert rewriting, which takes long; our modules have no asserts."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    for name in ["flakehound_inside." + short for short in _GREEN_RUN_MODULES]:
        spec = PathFinder.find_spec(name, sys.modules[name.rpartition(".")[0]].__path__)
        if name not in sys.modules and spec is not None and spec.loader is not None:
            module = sys.modules[name] = module_from_spec(spec)
            try:
                spec.loader.exec_module(module)
            except BaseException:
                del sys.modules[name]
                raise


def _may_be_requested(config: pytest.Config) -> bool:
    if "FLAKEHOUND" in os.environ:
        return True
    if any(getattr(config.option, _setting(name), None) for table in (_FLAGS, _NUMBERS, _TEXTS) for name in table):
        return True
    try:
        return bool(config.getini("flakehound"))
    except Exception:  # not a boolean; `read_options` reports the error
        return True


def pytest_collection_finish(session: pytest.Session) -> None:
    """Seed at the same point as a run of a hunt: after collection, before the first test."""
    seed = session.config.getoption("--flakehound-seed", None)
    if seed is not None:
        from flakehound_inside.random_seeds import apply_seed

        apply_seed(seed)
