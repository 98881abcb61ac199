"""The documentation is right where a machine can check: commands parse, Python compiles, links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import click
import pytest

from flakehound.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*/README.md")],
)
# Written by `make bench`, and so not there in a fresh clone before the first release.
GENERATED = {ROOT / "benchmarks" / "RESULTS.md"}

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def blocks(page: Path, language: str) -> Iterator[str]:
    """The fenced blocks of one language."""
    return (body for named, body in _FENCE.findall(page.read_text(encoding="utf-8")) if named == language)


def commands_in(page: Path) -> Iterator[str]:
    """Our own commands: the ones a reader types, and the ones that the shown output offers."""
    for body in blocks(page, "console"):
        for line in body.replace("\\\n", " ").splitlines():
            offered = re.search(r"(?:^\$ |^\s+|try: |Go on: |one test: )(flakehound( .*)?)$", line)
            if offered:
                yield offered[1]


def parse(command: str) -> None:
    """Let click read the command as the shell would give it, without running anything."""
    _flakehound, *arguments = shlex.split(command, comments=True)
    if not arguments or arguments[0].startswith("-"):
        with pytest.raises(click.exceptions.Exit):  # --help and --version end here
            main.make_context("flakehound", arguments)
        return
    chosen = main.get_command(click.Context(main), arguments[0])
    assert chosen is not None, f"there is no command {arguments[0]!r}"
    chosen.make_context(arguments[0], arguments[1:])


def links_in(page: Path) -> list[str]:
    """The links that stay within the repository."""
    prose = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return [link for link in _LINK.findall(prose) if "://" not in link]


def headings(page: Path) -> set[str]:
    """The anchors GitHub makes of a page's headings."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def cases(found: dict[Path, list[str]]) -> list[object]:
    """One test case per page and thing found."""
    return [
        pytest.param(page, thing, id=f"{page.relative_to(ROOT)}-{number}")
        for page, things in found.items()
        for number, thing in enumerate(things)
    ]


COMMAND_CASES = cases({page: list(commands_in(page)) for page in PAGES})
PYTHON_CASES = cases({page: list(blocks(page, "python")) for page in PAGES})
LINK_CASES = cases({page: links_in(page) for page in PAGES})


@pytest.mark.parametrize(("page", "command"), COMMAND_CASES)
def test_every_command_shown_is_one_our_parser_takes(page, command):
    parse(command)  # raises click's own error otherwise


@pytest.mark.parametrize(("page", "source"), PYTHON_CASES)
def test_every_python_example_compiles(page, source):
    compile(source, str(page), "exec")


@pytest.mark.parametrize(("page", "link"), LINK_CASES)
def test_every_relative_link_leads_somewhere(page, link):
    path, _hash, anchor = unquote(link).partition("#")
    target = (page.parent / path).resolve() if path else page

    assert target.exists() or target in GENERATED
    assert not anchor or anchor in headings(target)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_fence_is_closed(page):
    assert page.read_text(encoding="utf-8").count("\n```") % 2 == 0


def test_the_generated_pages_of_the_reference_are_up_to_date():
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate_reference.py", "--check"], capture_output=True, text=True
    )

    assert done.stdout == "", "run: python docs/generate_reference.py"
    assert done.returncode == 0, done.stderr


def source_files_named_in(page: Path) -> set[str]:
    """Paths of our source in backticks: `hunt/agenda.py`, `inside/plugin.py`."""
    layers = "cli|app|core|hunt|triage|lint|calls|features|learn|engine|store|report|inside"
    return set(re.findall(rf"`((?:{layers})/[a-z_/]+\.py)`", page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_source_file_that_a_page_names_is_there(page):
    source = ROOT / "src"
    places = {
        name: source / ("flakehound_inside" + name[6:] if name.startswith("inside/") else "flakehound/" + name)
        for name in source_files_named_in(page)
    }

    assert [name for name, path in places.items() if not path.exists()] == []


@pytest.mark.parametrize("page", [page for page in PAGES if "rules" not in page.name], ids=lambda page: page.name)
def test_no_line_is_longer_than_120_characters(page):
    lines = page.read_text(encoding="utf-8").splitlines()

    assert [number for number, line in enumerate(lines, 1) if len(line) > 120] == []


def test_the_readme_names_the_two_commands_of_a_fresh_machine():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert "make hunt" in readme
    assert "make test" in readme
