"""Files are written, moved or removed where other runs see them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.rules._checks import in_each_function, uses
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import is_temporary_path, string_value
from flakehound.lint.source.scopes import FunctionNode, parameter_names
from flakehound.lint.source.syntax_walk import nodes_of

_OPENERS = frozenset(
    ("open", "io.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open", "zipfile.ZipFile", "tarfile.open")
)
_CHANGERS = frozenset(
    ("os.mkdir", "os.makedirs", "os.remove", "os.unlink", "os.rename", "os.replace", "os.rmdir",
        "os.symlink", "os.removedirs",
     "shutil.rmtree", "shutil.copy", "shutil.copyfile", "shutil.copytree", "shutil.move", "shutil.copy2",
     "os.truncate",
     "shutil.make_archive", "numpy.save", "numpy.savez", "numpy.savetxt", "joblib.dump", "torch.save", "os.link")
)  # fmt: skip
_METHODS = frozenset(("write_text", "write_bytes", "mkdir", "unlink", "touch", "rmdir", "to_csv", "to_excel",
    "to_pickle",
                      "to_parquet", "to_hdf", "savefig", "symlink_to"))  # fmt: skip
SAFE = (
    "isolated_filesystem",
    "pyfakefs",
    "fs",
    "runner.isolated_filesystem",
    "testdir",
    "pytester",
    "in_tmpdir",
    "cleandir",
    "@monkeypatch.chdir",
    "@tmp_path.chdir",
    "@tmpdir.chdir",
)


def _written(call: Call) -> ast.expr | None:
    """The path that a call writes to, where it writes."""
    if call.name in _OPENERS or call.short_name == "open":
        mode = string_value(call.argument(0 if call.name not in _OPENERS else 1, "mode"))
        writes = mode is not None and len(mode) < 5 and any(sign in mode for sign in "wax+")
        return _target(call, call.name in _OPENERS) if writes else None
    if call.name in _CHANGERS:
        return call.node.args[-1] if call.node.args else None
    if call.short_name not in _METHODS or _is_other_object(call):
        return None
    return _target(call, call.short_name.startswith(("to_", "savefig")))


def _is_other_object(call: Call) -> bool:
    """Whether it is a method of an object that is made here and is no path: `HelpFormatter().write_text(...)`."""
    maker = call.name.removesuffix(f".{call.short_name}")
    made = maker.removesuffix("(_)").removesuffix("()").rpartition(".")[2]
    return maker.endswith(")") and made[:1].isupper() and "Path" not in made and "DataFrame" not in made


def _target(call: Call, first: bool) -> ast.expr | None:
    if first:
        return call.argument(0)
    return call.node.func.value if isinstance(call.node.func, ast.Attribute) else None


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in function.facts.calls:
        path = _written(call)
        if path is not None and not is_temporary_path(function, path) and _is_known(function, path):
            yield sign_for(call, "{} changes files outside of a temporary folder")


def _is_known(function: ReachedFunction, path: ast.expr) -> bool:
    # In production code and inner functions the path is the caller's business, unless it is written there.
    if not function.is_production:
        return not _is_argument_within(function, path)
    return any(isinstance(one, ast.Constant) for one in nodes_of(function.facts.value_of(path)))


def _is_argument_within(function: ReachedFunction, path: ast.expr) -> bool:
    """Whether some name in it is a parameter of an inner function."""
    names = {one.id for one in nodes_of(path) if isinstance(one, ast.Name)} - function.facts.parameters
    inner = (one for one in nodes_of(function.node) if one is not function.node and isinstance(one, FunctionNode))
    return any(not names.isdisjoint(parameter_names(one)) for one in inner)


RULE = LintRule(
    id="FH501",
    name="file-outside-tmp",
    cause=Cause.IO,
    title="Files outside tmp_path are changed",
    why="Tests that run at the same time, or after a run that was cut short, meet each other's files.",
    fix="Write below `tmp_path`; hand the folder to the code under test.",
    bad="def test_save(report):\n    with open('out.txt', 'w') as out:\n        report.save(out)\n",
    good="def test_save(report, tmp_path):\n    with open(tmp_path / 'out.txt', 'w') as out:\n       "
    " report.save(out)\n",
    check=in_each_function(_find, unless=uses(*SAFE)),
)
