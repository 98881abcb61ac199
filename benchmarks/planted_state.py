"""Code about state that outlives a test: statements that change, clear and read it, for planted tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

TOPICS = (
    *("layout", "buffer", "label", "margin", "solver", "render", "chunk", "export", "index", "sample", "scale"),
    *("filter", "window", "anchor", "offset", "digest", "column", "report", "spacing", "preview", "profile"),
)
ASPECTS = (
    *("mode", "style", "depth", "policy", "backend", "level", "format", "scheme", "order", "limit", "hint"),
    *("origin", "target", "method", "width", "phase", "family", "source", "preset", "variant", "schema", "rule"),
)
VALUES = (
    *("compact", "strict", "wide", "eager", "legacy", "dense", "sorted", "nested", "plain", "shared", "folded"),
    *("mirror", "coarse", "packed", "inline", "linear", "sparse", "greedy", "stable", "native", "minimal"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewModule:
    """A module that is added to the package: production code with state."""

    path: str  # from the root folder of the project
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCode:
    """Code about one piece of state that no test framework restores."""

    via: str  # what holds the state
    imports: tuple[str, ...]
    change: tuple[str, ...]  # lines that change the state
    clear: tuple[str, ...]  # lines that restore the default, whatever the state is
    is_changed: str  # an expression that is true after `change` only
    is_default: str  # an expression that is true before `change` only
    is_file: bool = False  # it survives the process
    module: NewModule | None = None  # of the package, which holds the state


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """Parts of the hunted package that can hold state without an effect on its own tests."""

    package: str
    modules: tuple[str, ...]  # get new attributes
    classes: tuple[str, ...]  # dotted names; get new attributes
    functions: tuple[str, ...]  # dotted names of plain functions that may stay wrapped


class Words:
    """Draws ordinary names by seed; never the same name twice."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._used: set[str] = set()
        self._used_numbers: set[int] = set()

    def name(self) -> str:
        """A new name such as `layout_mode`."""
        while True:
            name = f"{self._rng.choice(TOPICS)}_{self._rng.choice(ASPECTS)}"
            if name not in self._used:
                self._used.add(name)
                return name

    def value(self) -> str:
        """A word that serves as a setting's value."""
        return self._rng.choice(VALUES)

    def values(self, number: int) -> list[str]:
        """Several different words."""
        return self._rng.sample(VALUES, number)

    def pick(self, items: Sequence[str]) -> str:
        """One of the items."""
        return self._rng.choice(items)

    def new_number(self, low: int, high: int) -> int:
        """A whole number that was not returned before."""
        number = self._rng.choice([number for number in range(low, high + 1) if number not in self._used_numbers])
        self._used_numbers.add(number)
        return number

    def number(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return self._rng.randint(low, high)


StateMaker = Callable[[Words, Library], StateCode]


def _module_attribute(words: Words, library: Library) -> StateCode:
    module, name, value = words.pick(library.modules), words.name(), words.value()
    alias = module.rpartition(".")[2].lstrip("_")
    return StateCode(
        via="an attribute of a module of the library",
        imports=(f"import {module} as {alias}_module",),
        change=(f'{alias}_module.{name} = "{value}"',),
        clear=(f'vars({alias}_module).pop("{name}", None)',),
        is_changed=f'getattr({alias}_module, "{name}", "auto") == "{value}"',
        is_default=f'getattr({alias}_module, "{name}", "auto") == "auto"',
    )


def _class_attribute(words: Words, library: Library) -> StateCode:
    module, _, owner = words.pick(library.classes).rpartition(".")
    name, number = words.name(), words.number(3, 60)
    return StateCode(
        via="a class attribute",
        imports=(f"from {module} import {owner}",),
        change=(f"{owner}.{name} = {number}",),
        clear=(f'if "{name}" in vars({owner}):', f"    del {owner}.{name}"),
        is_changed=f'getattr({owner}, "{name}", None) == {number}',
        is_default=f'not hasattr({owner}, "{name}")',
    )


def _wrapped_function(words: Words, library: Library) -> StateCode:
    module, _, function = words.pick(library.functions).rpartition(".")
    alias = module.rpartition(".")[2].lstrip("_")
    return StateCode(
        via=f"a function left patched: {module}.{function}",
        imports=("import functools", "import inspect", f"import {module} as {alias}_module"),
        change=(
            "calls = []",
            f"original = inspect.unwrap({alias}_module.{function})",
            "",
            "@functools.wraps(original)",
            "def recorded(*args, **kwargs):",
            "    calls.append(args)",
            "    return original(*args, **kwargs)",
            "",
            f"{alias}_module.{function} = recorded",
            "assert not calls",
        ),
        clear=(f"{alias}_module.{function} = inspect.unwrap({alias}_module.{function})",),
        is_changed=f"inspect.unwrap({alias}_module.{function}) is not {alias}_module.{function}",
        is_default=f"inspect.unwrap({alias}_module.{function}) is {alias}_module.{function}",
    )


def _environment_variable(words: Words, library: Library) -> StateCode:
    name, value = f"{library.package}_{words.name()}".upper(), words.value()
    return StateCode(
        via="an environment variable",
        imports=("import os",),
        change=(f'os.environ["{name}"] = "{value}"',),
        clear=(f'os.environ.pop("{name}", None)',),
        is_changed=f'os.environ.get("{name}") == "{value}"',
        is_default=f'os.environ.get("{name}", "auto") == "auto"',
    )


def _csv_dialect(words: Words, library: Library) -> StateCode:
    name = words.name().replace("_", "-")
    return StateCode(
        via="the registry of CSV dialects",
        imports=("import csv",),
        change=(f'csv.register_dialect("{name}", delimiter="|")',),
        clear=(f'if "{name}" in csv.list_dialects():', f'    csv.unregister_dialect("{name}")'),
        is_changed=f'"{name}" in csv.list_dialects()',
        is_default=f'"{name}" not in csv.list_dialects()',
    )


def _mime_type(words: Words, library: Library) -> StateCode:
    kind = words.name()
    extension = f".{kind[:3]}{words.value()[:2]}"
    return StateCode(
        via="the registry of MIME types",
        imports=("import mimetypes",),
        change=(f'mimetypes.add_type("application/x-{kind}", "{extension}")',),
        clear=(f'mimetypes.types_map.pop("{extension}", None)',),
        is_changed=f'mimetypes.guess_type("a{extension}")[0] == "application/x-{kind}"',
        is_default=f'mimetypes.guess_type("a{extension}") == (None, None)',
    )


def _level_name(words: Words, library: Library) -> StateCode:
    name = words.name().upper()
    number = words.new_number(60, 999)
    return StateCode(
        via="the names of logging levels",
        imports=("import logging",),
        change=(f'logging.addLevelName({number}, "{name}")',),
        clear=(f'logging.addLevelName({number}, "Level {number}")',),
        is_changed=f'logging.getLevelName({number}) == "{name}"',
        is_default=f'logging.getLevelName({number}) == "Level {number}"',
    )


def _logger_level(words: Words, library: Library) -> StateCode:
    name = f"{library.package}.{words.name()}"
    return StateCode(
        via="the level of a logger",
        imports=("import logging",),
        change=(f'logging.getLogger("{name}").setLevel(logging.DEBUG)',),
        clear=(f'logging.getLogger("{name}").setLevel(logging.NOTSET)',),
        is_changed=f'logging.getLogger("{name}").level == logging.DEBUG',
        is_default=f'logging.getLogger("{name}").level == logging.NOTSET',
    )


def _logger_handlers(words: Words, library: Library) -> StateCode:
    logger = f'logging.getLogger("{library.package}.{words.name()}")'
    return StateCode(
        via="the handlers of a logger",
        imports=("import logging",),
        change=(f"logger = {logger}", "logger.propagate = False", "logger.handlers = [logging.NullHandler()]"),
        clear=(f"logger = {logger}", "logger.propagate = True", "logger.handlers = []"),
        is_changed=f"not {logger}.propagate and {logger}.handlers",
        is_default=f"{logger}.propagate and not {logger}.handlers",
    )


def _format_of_warnings(words: Words, library: Library) -> StateCode:
    # pytest restores the filters of warnings after each test, but not their format.
    name, shown = words.name(), 'warnings.formatwarning("text", UserWarning, "a.py", 1)'
    return StateCode(
        via="the format of warnings",
        imports=("import warnings",),
        change=(
            f"def {name}(message, category, *args, **kwargs):",
            '    return f"{category.__name__}: {message}"',
            "",
            f"warnings.formatwarning = {name}",
        ),
        clear=("warnings.formatwarning = warnings._formatwarning_orig",),
        is_changed=f'{shown} == "UserWarning: text"',
        is_default=f'{shown}.startswith("a.py:1: ")',
    )


def _registered_module(words: Words, library: Library) -> StateCode:
    name = f"{library.package}_{words.name()}"
    return StateCode(
        via="sys.modules",
        imports=("import sys", "import types"),
        change=(f'sys.modules["{name}"] = types.ModuleType("{name}")',),
        clear=(f'sys.modules.pop("{name}", None)',),
        is_changed=f'"{name}" in sys.modules',
        is_default=f'"{name}" not in sys.modules',
    )


def _search_path(words: Words, library: Library) -> StateCode:
    folder = f"/opt/{library.package}/{words.name()}"
    return StateCode(
        via="sys.path",
        imports=("import sys",),
        change=(f'sys.path.append("{folder}")',),
        clear=(f'sys.path[:] = [entry for entry in sys.path if entry != "{folder}"]',),
        is_changed=f'"{folder}" in sys.path',
        is_default=f'"{folder}" not in sys.path',
    )


def _first_weekday(words: Words, library: Library) -> StateCode:
    return StateCode(
        via="the calendar's first weekday",
        imports=("import calendar",),
        change=("calendar.setfirstweekday(calendar.SUNDAY)",),
        clear=("calendar.setfirstweekday(calendar.MONDAY)",),
        is_changed="calendar.firstweekday() == calendar.SUNDAY",
        is_default='calendar.weekheader(2).startswith("Mo")',
    )


def _decimal_context(words: Words, library: Library) -> StateCode:
    return StateCode(
        via="the decimal context",
        imports=("import decimal",),
        change=("decimal.getcontext().capitals = 0",),
        clear=("decimal.getcontext().capitals = 1",),
        is_changed="decimal.getcontext().capitals == 0",
        is_default='str(decimal.Decimal("1e9")) == "1E+9"',
    )


def _locale(words: Words, library: Library) -> StateCode:
    return StateCode(
        via="the locale",
        imports=("import locale",),
        change=('locale.setlocale(locale.LC_TIME, "C.UTF-8")',),
        clear=('locale.setlocale(locale.LC_TIME, "C")',),
        is_changed='locale.setlocale(locale.LC_TIME) == "C.UTF-8"',
        is_default='locale.setlocale(locale.LC_TIME) == "C"',
    )


def _socket_timeout(words: Words, library: Library) -> StateCode:
    seconds = words.number(20, 90)
    return StateCode(
        via="the default timeout of sockets",
        imports=("import socket",),
        change=(f"socket.setdefaulttimeout({seconds})",),
        clear=("socket.setdefaulttimeout(None)",),
        is_changed=f"socket.getdefaulttimeout() == {seconds}",
        is_default="socket.getdefaulttimeout() is None",
    )


def _working_folder(words: Words, library: Library) -> StateCode:
    package = f"os.path.dirname({library.package}.__file__)"
    root = f"os.path.dirname({package})"
    return StateCode(
        via="the working folder",
        imports=("import os", f"import {library.package}"),
        change=(f"os.chdir({package})",),
        clear=(f"os.chdir({root})",),
        is_changed=f"os.path.samefile(os.getcwd(), {package})",
        is_default='os.path.exists("pytest.ini")',
    )


def _file_state(via: str, folder: str, imports: tuple[str, ...], words: Words) -> StateCode:
    path, value = f'{folder} / "{words.name()}.cfg"', words.value()
    return StateCode(
        via=via,
        imports=("from pathlib import Path", *imports),
        change=(f"path = {path}", f'path.write_text("{value}")'),
        clear=(f"({path}).unlink(missing_ok=True)",),
        is_changed=f"({path}).exists()",
        is_default=f"not ({path}).exists()",
        is_file=True,
    )


def _file_in_tree(words: Words, library: Library) -> StateCode:
    folder = f"Path({library.package}.__file__).parent"
    return _file_state("a file in the package", folder, (f"import {library.package}",), words)


def _temporary_file(words: Words, library: Library) -> StateCode:
    return _file_state("a temporary file", "Path(tempfile.gettempdir())", ("import tempfile",), words)


def _file_in_working_folder(words: Words, library: Library) -> StateCode:
    return _file_state("a file in the working folder", "Path()", (), words)


# Each of these is a different piece of state whenever it is made again. The format of warnings is always the same,
# but there are more makers than plants need.
NAMED_STATES: tuple[StateMaker, ...] = (
    *(_module_attribute, _class_attribute, _environment_variable, _csv_dialect, _mime_type),
    *(_level_name, _logger_level, _logger_handlers, _format_of_warnings, _registered_module, _search_path),
)
# Each of these is always the same piece of state, or is limited by the library's functions.
SINGLE_STATES: tuple[StateMaker, ...] = (
    *(_first_weekday, _decimal_context, _locale, _socket_timeout, _wrapped_function, _working_folder),
)
FILE_STATES: tuple[StateMaker, ...] = (_file_in_tree, _temporary_file, _file_in_working_folder)
