"""The settings in a project's configuration that decide which tests pytest collects."""

from __future__ import annotations

import configparser
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from flakehound.core.collection_patterns import Patterns

CONFIG_NAMES = (
    "pytest.toml",
    ".pytest.toml",
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
)
_ALWAYS = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")  # count even when they are empty
_SECTIONS = {"setup.cfg": "tool:pytest"}  # any other INI file's section is [pytest]
_NOT_ENTERED = ("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestSettings:
    """pytest's settings, as far as they decide which tests there are; the defaults are pytest's."""

    patterns: Patterns = field(default_factory=Patterns)
    testpaths: tuple[str, ...] = ()  # globs relative to the rootdir
    skipped_folders: tuple[str, ...] = _NOT_ENTERED  # `norecursedirs`
    import_roots: tuple[str, ...] = ()  # `pythonpath`
    ignored: tuple[str, ...] = ()  # `--ignore` in addopts
    ignored_globs: tuple[str, ...] = ()  # `--ignore-glob` in addopts


class MalformedSettings(Exception):
    """A configuration file that cannot be read."""


def options_in(name: str, text: str) -> Mapping[str, Any] | None:
    """pytest's options in one configuration file; None where the file does not configure pytest.

    Raises Malformed, because pytest would not run with such a file either.
    """
    found = _toml_options(name, toml_in(text)) if name.endswith(".toml") else _ini_options(name, text)
    return {} if found is None and name in _ALWAYS else found


def settings_from(options: Mapping[str, Any]) -> PytestSettings:
    """The settings that a file's options make; what is absent has pytest's default."""
    defaults = PytestSettings()
    added = _words(options.get("addopts"), ())
    return PytestSettings(
        patterns=Patterns(
            files=_words(options.get("python_files"), defaults.patterns.files),
            functions=_words(options.get("python_functions"), defaults.patterns.functions),
            classes=_words(options.get("python_classes"), defaults.patterns.classes),
        ),
        testpaths=_words(options.get("testpaths"), ()),
        skipped_folders=_words(options.get("norecursedirs"), defaults.skipped_folders),
        import_roots=_words(options.get("pythonpath"), ()),
        ignored=_values_of("--ignore", added),
        ignored_globs=_values_of("--ignore-glob", added),
    )


def toml_in(text: str) -> Mapping[str, Any]:
    """A TOML file's content; raises Malformed."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        raise MalformedSettings(str(fault)) from fault


def _toml_options(name: str, found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if name != "pyproject.toml":
        return _table(found, "pytest")
    tool = _table(found, "tool", "pytest") or {}
    if "ini_options" in tool:
        return _table(tool, "ini_options")
    return tool or None


def _table(found: Mapping[str, Any], *keys: str) -> Mapping[str, Any] | None:
    for key in keys:
        inner = found.get(key)
        if not isinstance(inner, dict):
            return None
        found = inner
    return found


def _ini_options(name: str, text: str) -> Mapping[str, Any] | None:
    # An INI file may say things twice or use % for itself; pytest's reader minds neither.
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True, comment_prefixes=("#", ";"))
    try:
        parser.read_string(text)
    except configparser.Error as fault:
        raise MalformedSettings(str(fault).replace("\n", " ")) from fault
    section = _SECTIONS.get(name, "pytest")
    return dict(parser[section]) if parser.has_section(section) else None


def _words(value: object, defaults: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(str(one) for one in value)
    if not isinstance(value, str):
        return defaults
    try:
        return tuple(shlex.split(value, comments=True))
    except ValueError as fault:
        raise MalformedSettings(f"{fault}: {value!r}") from fault


def _values_of(option: str, words: Sequence[str]) -> tuple[str, ...]:
    joined = [word.partition("=")[2] for word in words if word.startswith(f"{option}=")]
    apart = [after for word, after in pairwise(words) if word == option]
    return (*joined, *apart)
