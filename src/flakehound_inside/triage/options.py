"""What the user wants of a triage: command line, then environment, then pytest.ini, then our defaults."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from typing import Any, Callable, Mapping, TypeVar

    _Wish = TypeVar("_Wish")

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
_TRUTHS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
LEAST_FAILURES = 10  # as many are always rerun, however small the suite


class Wishes:
    """Every option of `pytest --flakehound`. No dataclass: making one takes 1 ms at the start of every run."""

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
        self.since = since  # None: the controller finds out
        self.intersect = intersect
        self.check_base = check_base
        self.tolerate = tolerate
        self.json = json  # as given, relative to where pytest was started
        self.store = store  # None: the default place

    def most_failures(self, tests: int) -> float:
        """How many failures may be seen before nothing more is rerun."""
        return max(float(LEAST_FAILURES), self.threshold * tests)


def wishes_of(config: pytest.Config, environment: Mapping[str, str]) -> Wishes | None:
    """The wishes; None when no triage is asked for. A value that makes no sense is a UsageError."""
    asked = _Sources(config, environment)
    if not asked.flag(""):
        _refuse_lonely_options(config, environment)
        return None
    if config.option.collectonly:
        return None
    return Wishes(
        immediate=asked.value("immediate", _number, "1", 1),
        postponed=asked.value("postponed", _number, "1", 1),
        forked=asked.value("forked", _number, "2", 2),
        threshold=asked.value("threshold", _share, "1%", 0.01),
        since=asked.value("since", _revision, "main", None),
        intersect=not asked.flag("no-intersect"),
        check_base=asked.flag("check-base"),
        tolerate=asked.flag("tolerate"),
        json=asked.value("json", _file(config), "triage.json", None),
        store=asked.value("store", _file(config, made=True), ".flakehound/flakehound.db", None),
    )


def arguments_without_ours(arguments: list[str]) -> list[str]:
    """pytest's arguments as given, without the options that are ours."""
    kept: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        name, equals, _value = argument.partition("=")
        if argument == "--":
            return [*kept, argument, *rest]
        if name != "--flakehound" and not name.startswith("--flakehound-"):
            kept.append(argument)
        elif not equals and name != "--flakehound" and name[len("--flakehound-") :] not in _FLAGS:
            next(rest, None)
    return kept


def _refuse_lonely_options(config: pytest.Config, environment: Mapping[str, str]) -> None:
    # Only what was typed: a project may keep such options in its addopts for the runs that do ask.
    typed = {str(argument).partition("=")[0] for argument in config.invocation_params.args}
    given = [name for name in _SUB_OPTIONS if "--flakehound-" + name in typed]
    if given and "FLAKEHOUND" not in environment:
        raise pytest.UsageError(
            "--flakehound-%s does nothing without --flakehound. Try: pytest --flakehound %s"
            % (given[0], _as_typed(config, given[0]))
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
        return self.value(name, _truth, "1", False)

    def value(self, name: str, reading: Callable[[str], _Wish], example: str, default: _Wish) -> _Wish:
        setting = _setting(name)
        option, variable = "--" + setting.replace("_", "-"), setting.upper()
        given = getattr(self._config.option, setting, None)
        if given is not None:
            remedy = option if reading is _truth else "%s %s" % (option, example)
            return _read(str(given), reading, option, remedy)
        if variable in self._environment:
            remedy = "%s=%s" % (variable, example)
            return _read(self._environment[variable], reading, "the environment variable " + variable, remedy)
        remedy = "%s = %s" % (setting, "true" if reading is _truth else example)
        written = self._written(setting, remedy)
        if written in (None, "", []):
            return default
        return _read(str(written), reading, self._place(setting), remedy)

    def _written(self, setting: str, remedy: str) -> Any:
        try:
            return self._config.getini(setting)
        except (ValueError, TypeError, pytest.UsageError) as error:  # pytest's own look at the value
            raise pytest.UsageError("%s: %s. Try: %s" % (self._place(setting), error, remedy)) from None

    def _place(self, setting: str) -> str:
        return "%s in %s" % (setting, self._config.inipath or "the command line's -o")


def _read(text: str, reading: Callable[[str], _Wish], place: str, remedy: str) -> _Wish:
    try:
        return reading(text.strip())
    except ValueError as error:
        raise pytest.UsageError("%s %s, not %r. Try: %s" % (place, error, text, remedy)) from None


def _truth(text: str) -> bool:
    if text.lower() not in _TRUTHS and text:
        raise ValueError("takes 1 or 0, true or false")
    return _TRUTHS.get(text.lower(), False)


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


def _file(config: pytest.Config, *, made: bool = False) -> Callable[[str], str]:
    """Reads a path; with `made`, its folder is made when it is needed."""

    def reading(text: str) -> str:
        path = os.path.join(str(config.invocation_params.dir), text)
        if not text or os.path.isdir(path):
            raise ValueError("takes the path of a file")
        if not made and not os.path.isdir(os.path.dirname(path)):
            raise ValueError("takes a file in a folder that exists")
        return text

    return reading
