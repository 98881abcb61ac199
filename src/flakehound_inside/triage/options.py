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
    "time",
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
_MAX_TIME_S = 7 * 86400.0  # of a number that is meant
MIN_RERUN_FAILURES = 10  # this many are always rerun, even in a small suite


class PluginOptions:
    """Validated options of `pytest --flakehound`. Not a dataclass: creating one takes 1 ms at every start."""

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
        time_s: float,
        tolerate: bool,
        json: str | None,
        store: str | None,
    ) -> None:
        self.immediate = immediate  # reruns right after the failure
        self.postponed = postponed  # reruns after the last test
        self.forked = forked  # reruns in new processes
        self.threshold = threshold  # share of the tests, 0 to 1
        self.since = since  # a revision or a folder; None: the controller decides
        self.intersect = intersect
        self.check_base = check_base
        self.time_s = time_s  # for the verdicts on all failures
        self.tolerate = tolerate
        self.json = json  # as given, relative to where pytest was started
        self.store = store  # None: the default path

    def max_failures(self, tests: int) -> float:
        """How many failures there may be before nothing more is rerun."""
        return max(float(MIN_RERUN_FAILURES), self.threshold * tests)


def read_options(config: pytest.Config, environment: Mapping[str, str]) -> PluginOptions | None:
    """The options; None if no triage is requested. Raises a UsageError for an invalid value."""
    sources = _Sources(config, environment)
    if not sources.flag(""):
        _refuse_options_without_triage(config, environment)
        return None
    if config.option.collectonly:
        return None
    return PluginOptions(
        immediate=sources.value("immediate", _number, "1", 1),
        postponed=sources.value("postponed", _number, "1", 1),
        forked=sources.value("forked", _number, "3", 3),
        threshold=sources.value("threshold", _share, "1%", 0.01),
        since=sources.value("since", _revision(config), "main", None),
        intersect=not sources.flag("no-intersect"),
        check_base=sources.flag("check-base"),
        time_s=sources.value("time", _seconds, "90s", 60.0),
        tolerate=sources.flag("tolerate"),
        json=sources.value("json", _file(config), "triage.json", None),
        store=sources.value("store", _file(config, may_be_new=True), ".flakehound/flakehound.db", None),
    )


def without_own_options(arguments: list[str]) -> list[str]:
    """pytest's arguments without the options of flakehound."""
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
    # Only typed options, because a project may have such options in its addopts for runs with --flakehound.
    typed_options = {str(argument).partition("=")[0] for argument in config.invocation_params.args}
    without_triage = [name for name in _SUB_OPTIONS if "--flakehound-" + name in typed_options]
    if without_triage and "FLAKEHOUND" not in environment:
        raise pytest.UsageError(
            "--flakehound-%s does nothing without --flakehound. Try: pytest --flakehound %s"
            % (without_triage[0], _as_typed(config, without_triage[0]))
        )


def _as_typed(config: pytest.Config, name: str) -> str:
    value = getattr(config.option, _setting(name))
    return "--flakehound-" + name if value is True else "--flakehound-%s %s" % (name, value)


def _setting(name: str) -> str:
    return "flakehound_" + name.replace("-", "_") if name else "flakehound"


class _Sources:
    """The three places where an option can be set, highest precedence first."""

    def __init__(self, config: pytest.Config, environment: Mapping[str, str]) -> None:
        self._config = config
        self._environment = environment

    def flag(self, name: str) -> bool:
        return self.value(name, _boolean, "1", False)

    def value(self, name: str, parse: Callable[[str], _Value], example: str, default: _Value) -> _Value:
        setting = _setting(name)
        option, variable = "--" + setting.replace("_", "-"), setting.upper()
        option_value = getattr(self._config.option, setting, None)
        if option_value is not None:
            remedy = option if parse is _boolean else "%s %s" % (option, example)
            return _parse(str(option_value), parse, option, remedy)
        if variable in self._environment:
            remedy = "%s=%s" % (variable, example)
            return _parse(self._environment[variable], parse, "the environment variable " + variable, remedy)
        remedy = "%s = %s" % (setting, "true" if parse is _boolean else example)
        ini_value = self._in_ini_file(setting, remedy)
        if ini_value in (None, "", []):
            return default
        return _parse(str(ini_value), parse, self._ini_location(setting), remedy)

    def _in_ini_file(self, setting: str, remedy: str) -> Any:
        try:
            return self._config.getini(setting)
        except (ValueError, TypeError, pytest.UsageError) as error:  # pytest's own check of the value
            raise pytest.UsageError("%s: %s. Try: %s" % (self._ini_location(setting), error, remedy)) from None

    def _ini_location(self, setting: str) -> str:
        return "%s in %s" % (setting, self._config.inipath or "the command line's -o")


def _parse(text: str, parse: Callable[[str], _Value], source: str, remedy: str) -> _Value:
    try:
        return parse(text.strip())
    except ValueError as error:
        raise pytest.UsageError("%s %s, not %r. Try: %s" % (source, error, text, remedy)) from None


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


def _seconds(text: str) -> float:
    units_s = {"s": 1.0, "m": 60.0}
    number, unit_s = (text[:-1], units_s[text[-1]]) if text[-1:] in units_s else (text, 1.0)
    try:
        time_s = float(number) * unit_s
    except ValueError:
        time_s = -1.0
    if not 0 < time_s < _MAX_TIME_S:
        raise ValueError("takes seconds or minutes, as 90, 90s or 2m")
    return time_s


def _revision(config: pytest.Config) -> Callable[[str], str]:
    """A parser of a base: a revision, or a folder, an archive or a wheel that exists."""

    def parse(text: str) -> str:
        path = os.path.join(str(config.invocation_params.dir), os.path.expanduser(text))
        # No name of a revision begins like this; any other name may be both, and the controller asks git first.
        if text.startswith((".", "~", "/")) and os.path.exists(path):
            return os.path.normpath(path)
        if not text or text.startswith(("-", ".", "~", "/")):
            raise ValueError("takes a commit, branch or tag, or a folder, sdist or wheel that exists")
        return text

    return parse


def _file(config: pytest.Config, *, may_be_new: bool = False) -> Callable[[str], str]:
    """A parser of paths; with `may_be_new` the folder need not exist."""

    def parse(text: str) -> str:
        path = os.path.join(str(config.invocation_params.dir), text)
        if not text or os.path.isdir(path):
            raise ValueError("takes the path of a file")
        if not may_be_new and not os.path.isdir(os.path.dirname(path)):
            raise ValueError("takes a file in a folder that exists")
        return text

    return parse
