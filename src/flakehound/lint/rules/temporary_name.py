"""A temporary file with a name that another process may use."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of

_UNRESERVED_NAME_FUNCTIONS = frozenset({"os.tempnam", "os.tmpnam", "tempfile.gettempdir", "tempfile.mktemp"})
_SHARED_FOLDERS = ("/tmp/", "/var/tmp/", "C:/Temp", "C:\\Temp")


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in calls_of(function, _UNRESERVED_NAME_FUNCTIONS):
        yield sign_for(call, "{} gives a name that another process can take before the file exists")
    for text in function.facts.strings:
        if isinstance(text.value, str) and text.value.startswith(_SHARED_FOLDERS) and len(text.value) < 200:
            yield Sign(text, f"{text.value[:60]!r} is one place for all runs on the machine")


RULE = LintRule(
    id="FH503",
    name="temporary-name",
    cause=Cause.IO,
    title="A temporary file with a fixed or unreserved name",
    why="Two runs at once, or the rest of the last one, meet in the same file.",
    fix="Use `tmp_path`, or `tempfile.NamedTemporaryFile`, which creates the file as it picks the name.",
    bad="import tempfile\n\ndef test_dump(db):\n    db.dump(tempfile.mktemp())\n",
    good="def test_dump(db, tmp_path):\n    db.dump(tmp_path / 'dump')\n",
    check=in_each_function(_find, in_production=False),
)
