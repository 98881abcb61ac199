"""Generate pages of the reference from the code: options, exit codes, JSON.

`python docs/generate_reference.py` writes them; a test checks that they are up to date.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import click

REFERENCE = Path(__file__).parent / "reference"
WIDTH = 119
NOTICE = "% Written by docs/generate_reference.py from the code; edit the code instead."

# Exit code -> meaning; with 141, which the shell reports for a program that SIGPIPE ended.
EXIT_CODES = {
    0: "nothing flaky",
    1: "flaky tests found; of `lint`: findings; of `replay`: the test failed again",
    2: "the command line asks for something that cannot be done",
    3: "the suite could not be collected or run, or the store could not be used; of `lint`: no test was read",
    130: "interrupted; everything found so far is stored and printed",
    141: "the reader of the output ended, as in `flakehound hunt | head -1`; everything is stored",
}


def pages() -> dict[Path, str]:
    """Each generated page with its text."""
    return {REFERENCE / "cli.md": cli_page(), REFERENCE / "json.md": json_page()}


def cli_page() -> str:
    """Every command with its help and its options, the options of the pytest plugin, the exit codes."""
    from flakehound.cli.main import main

    lines = [
        "# Command line",
        "",
        NOTICE,
        "",
        *_paragraph(
            "`python -m flakehound` is the same as `flakehound`. Every command has `--help`. Reports go to "
            "standard output, progress and errors to standard error."
        ),
        "",
        "## Exit codes",
        "",
        "| code | meaning |",
        "|---|---|",
        *(f"| {code} | {meaning.replace('|', chr(92) + '|')} |" for code, meaning in EXIT_CODES.items()),
        "",
        *_paragraph("`failing` and `unresolved` tests do not make the exit code 1."),
        "",
    ]
    context = click.Context(main, info_name="flakehound")
    for name in main.list_commands(context):
        lines += _command(main.get_command(context, name), f"flakehound {name}", level=2)
    return "\n".join([*lines, *_plugin_options()]) + "\n"


def _command(command: click.Command | None, name: str, *, level: int) -> Iterator[str]:
    assert command is not None
    yield from [f"{'#' * level} {name}", ""]
    yield from _help(command.help or "")
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for below in command.list_commands(context):
            yield from _command(command.get_command(context, below), f"{name} {below}", level=level + 1)
        return
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    if options:
        yield from ["Options:", ""]
        for option in options:
            yield from _option(option)
        yield ""


def _help(text: str) -> Iterator[str]:
    """The help text of a command: paragraphs as prose, parts that click must not wrap as code blocks."""
    for part in text.split("\n\n"):
        if "\b" in part:
            yield from [
                "```text",
                *textwrap.dedent(part.replace("\b", "").strip(" ").strip("\n")).splitlines(),
                "```",
                "",
            ]
        else:
            yield from [*_paragraph(" ".join(part.split())), ""]


def _option(option: click.Option) -> list[str]:
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    value = "" if option.is_flag else f" `{_metavar(option)}`"
    words = " ".join((option.help or "").split())
    if not option.is_flag and isinstance(option.default, str | int | float | Path) and "Default:" not in words:
        words += f" Default: `{option.default}`."
    if option.multiple and "repeat" not in words:
        words += " May be repeated."
    return _wrapped(f"{names}{value}: {words}", first="- ", rest="  ")


def _metavar(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return "|".join(str(choice) for choice in option.type.choices)
    return option.metavar or option.type.name.upper()


def _plugin_options() -> Iterator[str]:
    """The options that the plugin adds to pytest, as pytest itself would show them."""
    from _pytest.config.argparsing import Parser

    from flakehound_inside import plugin

    parser = Parser(_ispytest=True)
    plugin.pytest_addoption(parser)
    yield from ["## pytest options", ""]
    yield from _paragraph(
        "Installing flakehound registers a pytest plugin. It does nothing without one of these options. See "
        "[triage](../guide/triage.md). Write paths after an equals sign, `--flakehound-json=FILE`: pytest "
        "determines its rootdir from every separate word that is an existing path."
    )
    yield ""
    for group in parser._groups:
        for option in group.options:
            attributes = option.attrs()
            value = attributes.get("metavar")
            words = " ".join(str(attributes.get("help", "")).replace("%%", "%").split())
            names = ", ".join(f"`{name}`" for name in option.names())
            yield from _wrapped(f"{names}{f' `{value}`' if value else ''}: {words}", first="- ", rest="  ")


def json_page() -> str:
    """The report of a hunt field by field, from its schema; the other formats by name."""
    text = (resources.files("flakehound.report") / "schema" / "report-1.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    lines = [
        "# JSON",
        "",
        NOTICE,
        "",
        *_paragraph(
            "Every JSON file of ours names its format in `schema`. New keys may be added; existing ones stay."
        ),
        "",
        "## Formats",
        "",
        "| schema | written by | described in |",
        "|---|---|---|",
        *(f"| `{name}` | {command} | {page} |" for name, command, page in _FORMATS),
        "",
        "## flakehound/report/1",
        "",
        *_paragraph(
            schema["description"] + " The JSON Schema is "
            "[`report-1.json`](../../src/flakehound/report/schema/report-1.json)."
        ),
        "",
        *_fields(schema, schema["$defs"]),
    ]
    for name, definition in schema["$defs"].items():
        if definition.get("properties"):
            lines += ["", f"### {name}", ""]
            lines += [*_paragraph(_sentence(definition["description"])), ""] if "description" in definition else []
            lines += _fields(definition, schema["$defs"])
    return "\n".join(lines) + "\n"


_FORMATS = (
    ("flakehound/report/1", "`flakehound hunt --json`", "below"),
    ("flakehound/triage/1", "`pytest --flakehound-json=FILE`", "[triage](../guide/triage.md)"),
    ("flakehound/lint/1", "`flakehound lint --format json`", "[lint](../guide/lint.md)"),
    ("flakehound/features/1", "`flakehound features --json`", "[features](../guide/features.md)"),
    ("flakehound/calls/1", "`flakehound calls --json`", "[calls](../guide/calls.md)"),
    ("flakehound/study-triage/1", "`flakehound study triage --json`", "[studies](../research/study.md)"),
    ("flakehound/study-calls/1", "`flakehound study calls --json`", "[calls](../guide/calls.md)"),
    ("flakehound/study-models/1", "`flakehound study models --json`", "[learning](../research/learn.md)"),
    ("flakehound/study-metrics/1", "`flakehound study metrics --json`", "[learning](../research/learn.md)"),
    ("flakehound/study-explain/1", "`flakehound study explain --json`", "[learning](../research/learn.md)"),
    ("flakehound/study-pareto/1", "`flakehound study pareto --json`", "[learning](../research/learn.md)"),
    ("flakehound/study-policies/1", "`flakehound study policies --json`", "[policies](../research/policies.md)"),
)


def _fields(definition: dict[str, Any], definitions: dict[str, Any]) -> Iterator[str]:
    for key, field in definition["properties"].items():
        words = f": {_sentence(field['description'])}" if "description" in field else ""
        optional = "" if key in definition.get("required", ()) else ", optional"
        yield from _wrapped(f"`{key}` ({_type(field, definitions)}{optional}){words}", first="- ", rest="  ")


def _type(field: dict[str, Any], definitions: dict[str, Any]) -> str:
    """The type of a field in words."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        target = definitions[name]
        return f"[{name}](#{name})" if target.get("properties") else _type(target, definitions)
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join("null" if value is None else f"`{value}`" for value in field["enum"])
    if "anyOf" in field or "oneOf" in field:
        return " or ".join(_type(option, definitions) for option in field.get("anyOf") or field["oneOf"])
    kinds = field.get("type", "any")
    words = " or ".join(kinds) if isinstance(kinds, list) else kinds
    if words == "array":
        return f"list of {_type(field.get('items', {}), definitions)}"
    if words == "object" and isinstance(field.get("additionalProperties"), dict):
        return f"object of {_type(field['additionalProperties'], definitions)}"
    return str(words)


def _sentence(words: str) -> str:
    text = words[0].upper() + words[1:]
    return text if text.endswith(".") else f"{text}."


def _paragraph(words: str) -> list[str]:
    return _wrapped(words)


def _wrapped(words: str, *, first: str = "", rest: str = "") -> list[str]:
    # Code in backticks is not broken, so that readers can search for it.
    joined = re.sub(r"`[^`]*`", lambda literal: literal[0].replace(" ", "\0"), words)
    lines = textwrap.wrap(
        joined,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\0", " ") for line in lines]


def main() -> int:
    """Write the pages; with `--check` only print those that are out of date."""
    outdated = [path for path, text in pages().items() if not path.exists() or path.read_text("utf-8") != text]
    for path in outdated:
        if "--check" not in sys.argv:
            path.write_text(pages()[path], encoding="utf-8")
        print(path)
    return 1 if outdated and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
