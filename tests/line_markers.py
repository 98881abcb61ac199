"""Record which lines of our packages run, in every process that the test session starts.

pytest-xdist's workers, and all that they start, import our modules with a marker at each statement,
`__executed__[n] = 1`, where `__executed__` is a part of a file that all processes map into their memory. No trace
function is set and nothing has to be saved at exit. So it works in processes that set trace functions themselves,
fork, leave by `os._exit` or are killed, and it costs a few percent where a trace function doubles the time.

`line_markers_startup.py` makes an interpreter load the marked modules. A `.pth` file in the environment's
site-packages runs it where the environment variable `VARIABLE` is set; `pytest --record-lines` sets it.
"""

from __future__ import annotations

import ast
import marshal
import os
import site
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType

import flakehound

VARIABLE = "FH_LINE_MARKERS"  # the folder with the marked modules and the file of markers
SOURCES = Path(flakehound.__file__).parents[1]
PACKAGES = ("flakehound", "flakehound_inside")
_STARTUP = Path(__file__).with_name("line_markers_startup.py")
_PTH = "fh_line_markers.pth"
_PTH_LINE = (
    f"import os; file = os.environ.get('{VARIABLE}', '') + '/startup.py'; "
    "import pathlib; os.path.exists(file) and exec(pathlib.Path(file).read_text(encoding='utf-8'))\n"
)
_MARKERS = "__executed__"
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")  # fields of a statement that hold others


@dataclass(slots=True)
class MarkedModule:
    """A module whose statements have markers."""

    path: str
    code: CodeType
    lines: list[list[int]] = field(default_factory=list)  # the lines that each marker stands for


class LineMarkers:
    """The marked modules of our packages, and the file in which their markers are set."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._modules = [mark(path) for package in PACKAGES for path in sorted((SOURCES / package).rglob("*.py"))]

    def start(self) -> None:
        """Let every interpreter of this environment that is started from now on set markers."""
        offset, bundles = 0, {package: {} for package in PACKAGES}
        for module in self._modules:
            package = Path(module.path).relative_to(SOURCES).parts[0]
            bundles[package][module.path] = (offset, len(module.lines), marshal.dumps(module.code))
            offset += len(module.lines)
        for package, bundle in bundles.items():
            (self._folder / f"{package}.marshal").write_bytes(marshal.dumps(bundle))
        (self._folder / "markers").write_bytes(bytes(offset))
        (self._folder / "sources").write_text(str(SOURCES))
        (self._folder / "startup.py").write_text(_STARTUP.read_text())
        os.environ[VARIABLE] = str(self._folder)
        pth = Path(site.getsitepackages([sys.prefix])[0], _PTH)
        if not pth.exists() or pth.read_text() != _PTH_LINE:
            pth.write_text(_PTH_LINE)

    def executed_lines(self) -> dict[str, set[int]]:
        """The lines that ran in any process so far, by file."""
        found: dict[str, set[int]] = {}
        markers, offset = (self._folder / "markers").read_bytes(), 0
        for module in self._modules:
            for number, lines in enumerate(module.lines):
                if markers[offset + number]:
                    found.setdefault(module.path, set()).update(lines)
            offset += len(module.lines)
        return found

    def save(self) -> None:
        """Write the lines as data of coverage.py, which reports them."""
        import coverage

        data = coverage.CoverageData(basename=coverage.Coverage().config.data_file)
        data.erase()
        data.add_lines({module.path: () for module in self._modules} | self.executed_lines())
        data.write()


def mark(path: Path) -> MarkedModule:
    """Compile a module with a marker at each of its statements; line numbers stay."""
    tree = ast.parse(path.read_bytes(), filename=str(path))
    marker = _Marker()
    marker.mark(tree)
    return MarkedModule(path=str(path), code=compile(tree, str(path), "exec"), lines=marker.lines)


class _Marker:
    """Puts a marker before each statement and into each branch that coverage.py counts as a line."""

    def __init__(self) -> None:
        self.lines: list[list[int]] = []

    def mark(self, node: ast.AST) -> None:
        for name in _BLOCKS:
            block = getattr(node, name, None)
            if block:
                for inner in block:
                    self.mark(inner)
                if isinstance(block[0], ast.stmt):
                    setattr(node, name, list(self._marked(node, block, is_body=name == "body")))

    def _marked(self, node: ast.AST, block: list[ast.stmt], *, is_body: bool) -> Iterator[ast.stmt]:
        first = _first_markable(node, block) if is_body else 0
        yield from block[:first]
        entry = [line for statement in block[:first] for line in _lines_of(statement)]
        if is_body and isinstance(node, ast.ExceptHandler):
            entry.append(node.lineno)
        elif is_body and isinstance(node, ast.match_case):
            entry.append(node.pattern.lineno)
        if entry:
            yield self._new(entry, block[first] if first < len(block) else block[-1])
        for statement in block[first:]:
            yield self._new(list(_lines_of(statement)), statement)
            yield statement

    def _new(self, lines: list[int], place: ast.stmt) -> ast.stmt:
        self.lines.append(lines)
        number = ast.Constant(len(self.lines) - 1)
        target = ast.Subscript(value=ast.Name(_MARKERS, ctx=ast.Load()), slice=number, ctx=ast.Store())
        statement = ast.copy_location(ast.Assign(targets=[target], value=ast.Constant(1)), place)
        return ast.fix_missing_locations(statement)


def _lines_of(statement: ast.stmt) -> Iterator[int]:
    yield statement.lineno
    for decorator in getattr(statement, "decorator_list", ()):
        yield decorator.lineno


def _first_markable(node: ast.AST, block: list[ast.stmt]) -> int:
    """How many statements have to stay first: a docstring, and imports from the future."""
    first = 0
    if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        first = int(ast.get_docstring(node, clean=False) is not None)
    while first < len(block) and isinstance(block[first], ast.ImportFrom) and block[first].module == "__future__":  # type: ignore[attr-defined]
        first += 1
    return first
