"""The options of `pytest --flakehound`: from the command line, the environment, pytest.ini, or our defaults."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from typing import Any, Callable, Mapping, TypeVar

    _Value = TypeVar("_Value")

_SUB_OPTIONS = (
    "immediate",
    "postponed",
    "forked",
    "threshold",
    "since",
    "no-intersect",
    "check-base",
    "tolerate",
    "json",
    "store",
)
_FLAGS = ("no-intersect", "check-base", "tolerate")
_BOOLEANS = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}
MIN_RERUN_FAILURES = 10  # so many are always rerun, however small the suite


class PluginOptions:
    """Validated options of `pytest --flakehound`. No dataclass: making one takes 1 ms at every start."""

    def __init__(
        self,
        *,
        immediate: int,
        postponed: int,
        forked: int,
        threshold: float,
        since: str | None,
        intersect: bool,
        check_base: bool,
        tolerate: bool,
        json: str | None,
        store: str | None,
    ) -> None:
        self.immediate = immediate  # reruns right after the failure
        self.postponed = postponed  # reruns after the last test
        self.forked = forked  # reruns in new processes
        self.threshold = threshold  # share of the tests, 0 to 1
        self.since = since  # None: the controller decides
        self.intersect = intersect
        self.check_base = check_base
        self.tolerate = tolerate
        self.json = json  # as given, relative to where pytest was started
        self.store = store  # None: the default place

    def max_failures(self, tests: int) -> float:
        """How many failures may be seen before nothing more is rerun."""
        return max(float(MIN_RERUN_FAILURES), self.threshold * tests)


def read_options(config: pytest.Config, environment: Mapping[str, str]) -> PluginOptions | None:
    """The options; None when no triage is asked for. A value that makes no sense is a UsageError."""
    given = _Sources(config, environment)
    if not given.flag(""):
        _refuse_options_without_triage(config, environment)
        return None
    if config.option.collectonly:
        return None
    return PluginOptions(
        immediate=given.value("immediate", _number, "1", 1),
        postponed=given.value("postponed", _number, "1", 1),
        forked=given.value("forked", _number, "2", 2),
        threshold=given.value("threshold", _share, "1%", 0.01),
        since=given.value("since", _revision, "main", None),
        intersect=not given.flag("no-intersect"),
        check_base=given.flag("check-base"),
        tolerate=given.flag("tolerate"),
        json=given.value("json", _file(config), "triage.json", None),
        store=given.value("store", _file(config, may_be_new=True), ".flakehound/flakehound.db", None),
    )


def without_own_options(arguments: list[str]) -> list[str]:
    """pytest's arguments as given, without the options that are ours."""
    remaining: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        name, equals, _value = argument.partition("=")
        if argument == "--":
            return [*remaining, argument, *rest]
        if name != "--flakehound" and not name.startswith("--flakehound-"):
            remaining.append(argument)
        elif not equals and name != "--flakehound" and name[len("--flakehound-") :] not in _FLAGS:
            next(rest, None)
    return remaining


def _refuse_options_without_triage(config: pytest.Config, environment: Mapping[str, str]) -> None:
    # Only what was typed: a project may keep such options in its addopts for the runs that do ask.
    typed = {str(argument).partition("=")[0] for argument in config.invocation_params.args}
    alone = [name for name in _SUB_OPTIONS if "--flakehound-" + name in typed]
    if alone and "FLAKEHOUND" not in environment:
        raise pytest.UsageError(
            "--flakehound-%s does nothing without --flakehound. Try: pytest --flakehound %s"
            % (alone[0], _as_typed(config, alone[0]))
        )


def _as_typed(config: pytest.Config, name: str) -> str:
    value = getattr(config.option, _setting(name))
    return "--flakehound-" + name if value is True else "--flakehound-%s %s" % (name, value)


def _setting(name: str) -> str:
    return "flakehound_" + name.replace("-", "_") if name else "flakehound"


class _Sources:
    """The three places where an option can be given, the strongest first."""

    def __init__(self, config: pytest.Config, environment: Mapping[str, str]) -> None:
        self._config = config
        self._environment = environment

    def flag(self, name: str) -> bool:
        return self.value(name, _boolean, "1", False)

    def value(self, name: str, parse: Callable[[str], _Value], example: str, default: _Value) -> _Value:
        setting = _setting(name)
        option, variable = "--" + setting.replace("_", "-"), setting.upper()
        given = getattr(self._config.option, setting, None)
        if given is not None:
            remedy = option if parse is _boolean else "%s %s" % (option, example)
            return _read(str(given), parse, option, remedy)
        if variable in self._environment:
            remedy = "%s=%s" % (variable, example)
            return _read(self._environment[variable], parse, "the environment variable " + variable, remedy)
        remedy = "%s = %s" % (setting, "true" if parse is _boolean else example)
        written = self._in_ini_file(setting, remedy)
        if written in (None, "", []):
            return default
        return _read(str(written), parse, self._place(setting), remedy)

    def _in_ini_file(self, setting: str, remedy: str) -> Any:
        try:
            return self._config.getini(setting)
        except (ValueError, TypeError, pytest.UsageError) as error:  # pytest's own check of the value
            raise pytest.UsageError("%s: %s. Try: %s" % (self._place(setting), error, remedy)) from None

    def _place(self, setting: str) -> str:
        return "%s in %s" % (setting, self._config.inipath or "the command line's -o")


def _read(text: str, parse: Callable[[str], _Value], place: str, remedy: str) -> _Value:
    try:
        return parse(text.strip())
    except ValueError as error:
        raise pytest.UsageError("%s %s, not %r. Try: %s" % (place, error, text, remedy)) from None


def _boolean(text: str) -> bool:
    if text.lower() not in _BOOLEANS and text:
        raise ValueError("takes 1 or 0, true or false")
    return _BOOLEANS.get(text.lower(), False)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError("takes a number of reruns, 0 or more")
    return int(text)


def _share(text: str) -> float:
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError("takes a share of the tests, from 0 to 100% or from 0 to 1")
    return share


def _revision(text: str) -> str:
    if not text or text.startswith("-"):
        raise ValueError("takes a commit, a branch or a tag")
    return text


def _file(config: pytest.Config, *, may_be_new: bool = False) -> Callable[[str], str]:
    """Reads a path; with `may_be_new` its folder need not exist."""

    def parse(text: str) -> str:
        path = os.path.join(str(config.invocation_params.dir), text)
        if not text or os.path.isdir(path):
            raise ValueError("takes the path of a file")
        if not may_be_new and not os.path.isdir(os.path.dirname(path)):
            raise ValueError("takes a file in a folder that exists")
        return text

    return parse
