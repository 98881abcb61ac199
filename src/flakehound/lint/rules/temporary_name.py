"""A temporary file whose name somebody else may use."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part, in_each
from flakehound.lint.rules._values import matching, told

_NAMES = frozenset(("tempfile.mktemp", "os.tempnam", "os.tmpnam", "tempfile.gettempdir"))
_FIXED = ("/tmp/", "/var/tmp/", "C:\\Temp", "C:/Temp")


def _look(part: Part) -> Iterator[Sign]:
    for call in matching(part, _NAMES):
        yield told(call, "{} gives a name that another process can take before the file exists")
    for text in part.sights.texts:
        if isinstance(text.value, str) and text.value.startswith(_FIXED) and len(text.value) < 200:
            yield Sign(text, f"{text.value[:60]!r} is one place for all runs on the machine")


RULE = Rule(
    id="FH503",
    name="temporary-name",
    cause=Cause.IO,
    title="A temporary file with a fixed or unreserved name",
    why="Two runs at once, or the rest of the last one, meet in the same file.",
    fix="Use `tmp_path`, or `tempfile.NamedTemporaryFile`, which creates the file as it picks the name.",
    bad="import tempfile\n\ndef test_dump(db):\n    db.dump(tempfile.mktemp())\n",
    good="def test_dump(db, tmp_path):\n    db.dump(tmp_path / 'dump')\n",
    check=in_each(_look, production=False),
)
