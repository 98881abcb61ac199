"""The settings in a project's configuration that decide which tests pytest collects."""

from __future__ import annotations

import configparser
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from flakehound.core.collection_patterns import CollectionPatterns

CONFIG_NAMES = (
    "pytest.toml",
    ".pytest.toml",
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
)
_CONFIGURE_EVEN_IF_EMPTY = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
_INI_SECTIONS = {"setup.cfg": "tool:pytest"}  # in other INI files the section is [pytest]
_DEFAULT_SKIPPED_FOLDERS = ("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestSettings:
    """The settings of pytest that decide which tests it collects; the defaults are pytest's."""

    patterns: CollectionPatterns = field(default_factory=CollectionPatterns)
    testpaths: tuple[str, ...] = ()  # globs relative to the rootdir
    skipped_folders: tuple[str, ...] = _DEFAULT_SKIPPED_FOLDERS  # `norecursedirs`
    import_roots: tuple[str, ...] = ()  # `pythonpath`
    ignored: tuple[str, ...] = ()  # `--ignore` in addopts
    ignored_globs: tuple[str, ...] = ()  # `--ignore-glob` in addopts


class MalformedSettings(Exception):
    """The error about a configuration file that cannot be parsed."""


def options_in(name: str, text: str) -> Mapping[str, Any] | None:
    """pytest's options in one configuration file; None if the file does not configure pytest.

    Raises `MalformedSettings` for a file with which pytest would not run either.
    """
    options = _toml_options(name, parse_toml(text)) if name.endswith(".toml") else _ini_options(name, text)
    return {} if options is None and name in _CONFIGURE_EVEN_IF_EMPTY else options


def settings_from(options: Mapping[str, Any], defaults: PytestSettings | None = None) -> PytestSettings:
    """The settings by the options of a file; an absent option has pytest's default, or that of `defaults`."""
    defaults = defaults or PytestSettings()
    addopts = _split_words(options.get("addopts"), ())
    return PytestSettings(
        patterns=CollectionPatterns(
            files=_split_words(options.get("python_files"), defaults.patterns.files),
            functions=_split_words(options.get("python_functions"), defaults.patterns.functions),
            classes=_split_words(options.get("python_classes"), defaults.patterns.classes),
        ),
        testpaths=_split_words(options.get("testpaths"), defaults.testpaths),
        skipped_folders=_split_words(options.get("norecursedirs"), defaults.skipped_folders),
        import_roots=_split_words(options.get("pythonpath"), defaults.import_roots),
        ignored=_values_of("--ignore", addopts) or defaults.ignored,
        ignored_globs=_values_of("--ignore-glob", addopts) or defaults.ignored_globs,
    )


def parse_toml(text: str) -> Mapping[str, Any]:
    """Parse a TOML file; raises `MalformedSettings`."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MalformedSettings(str(error)) from error


def _toml_options(name: str, table: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if name != "pyproject.toml":
        return _table(table, "pytest")
    tool = _table(table, "tool", "pytest") or {}
    if "ini_options" in tool:
        return _table(tool, "ini_options")
    return tool or None


def _table(table: Mapping[str, Any], *keys: str) -> Mapping[str, Any] | None:
    for key in keys:
        inner = table.get(key)
        if not isinstance(inner, dict):
            return None
        table = inner
    return table


def _ini_options(name: str, text: str) -> Mapping[str, Any] | None:
    # pytest's reader allows repeated options and does not interpolate `%`.
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True, comment_prefixes=("#", ";"))
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise MalformedSettings(str(error).replace("\n", " ")) from error
    section = _INI_SECTIONS.get(name, "pytest")
    return dict(parser[section]) if parser.has_section(section) else None


def _split_words(value: object, defaults: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(str(word) for word in value)
    if not isinstance(value, str):
        return defaults
    try:
        return tuple(shlex.split(value, comments=True))
    except ValueError as error:
        raise MalformedSettings(f"{error}: {value!r}") from error


def _values_of(option: str, words: Sequence[str]) -> tuple[str, ...]:
    after_equals_sign = [word.partition("=")[2] for word in words if word.startswith(f"{option}=")]
    next_words = [next_word for word, next_word in pairwise(words) if word == option]
    return (*after_equals_sign, *next_words)
