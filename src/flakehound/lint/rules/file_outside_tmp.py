"""Files outside of temporary folders are written, moved or removed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._lasting_change import is_in_finally
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import is_next_to_source, is_temporary_path, starts_with_text, string_value
from flakehound.lint.source.scopes import FunctionNode, parameter_names
from flakehound.lint.source.syntax_walk import nodes_of

_OPEN_FUNCTIONS = frozenset(
    {
        "bz2.open",
        "codecs.open",
        "gzip.open",
        "io.open",
        "lzma.open",
        "open",
        "tarfile.open",
        "zipfile.ZipFile",
    }
)
_CHANGING_FUNCTIONS = frozenset(
    {
        "joblib.dump",
        "numpy.save",
        "numpy.savetxt",
        "numpy.savez",
        "os.link",
        "os.makedirs",
        "os.mkdir",
        "os.remove",
        "os.removedirs",
        "os.rename",
        "os.replace",
        "os.rmdir",
        "os.symlink",
        "os.truncate",
        "os.unlink",
        "shutil.copy",
        "shutil.copy2",
        "shutil.copyfile",
        "shutil.copytree",
        "shutil.make_archive",
        "shutil.move",
        "shutil.rmtree",
        "torch.save",
    }
)
_WRITING_METHODS = frozenset(
    {
        "mkdir",
        "rmdir",
        "savefig",
        "symlink_to",
        "to_csv",
        "to_excel",
        "to_hdf",
        "to_parquet",
        "to_pickle",
        "touch",
        "unlink",
        "write_bytes",
        "write_text",
    }
)
_ISOLATED_FILE_SYSTEMS = (
    "@monkeypatch.chdir",
    "@tmp_path.chdir",
    "@tmpdir.chdir",
    "cleandir",
    "fs",
    "in_tmpdir",
    "isolated_filesystem",
    "pyfakefs",
    "pytester",
    "runner.isolated_filesystem",
    "testdir",
)


def is_elsewhere(context: CaseContext) -> bool:
    """Whether the test has a file system of its own, or starts in a folder of its own."""
    return context.uses(*_ISOLATED_FILE_SYSTEMS) or any(name.endswith("chdir") for name in context.used_names)


def _written_path(call: Call) -> ast.expr | None:
    """The path that a call writes to; None if it does not write."""
    if call.name in _OPEN_FUNCTIONS or call.short_name == "open":
        mode = string_value(call.argument(0 if call.name not in _OPEN_FUNCTIONS else 1, "mode"))
        writes = mode is not None and len(mode) < 5 and any(letter in mode for letter in "wax+")
        return _path_of_call(call, call.name in _OPEN_FUNCTIONS) if writes else None
    if call.name in _CHANGING_FUNCTIONS:
        return call.node.args[-1] if call.node.args else None
    if call.short_name not in _WRITING_METHODS or _is_other_object(call):
        return None
    return _path_of_call(call, call.short_name.startswith(("to_", "savefig")))


def _is_other_object(call: Call) -> bool:
    """Whether it is a method of a new object that is not a path: `HelpFormatter().write_text(...)`."""
    object_name = call.name.removesuffix(f".{call.short_name}")
    class_name = object_name.removesuffix("(_)").removesuffix("()").rpartition(".")[2]
    return (
        object_name.endswith(")")
        and class_name[:1].isupper()
        and "Path" not in class_name
        and "DataFrame" not in class_name
    )


def _path_of_call(call: Call, is_argument: bool) -> ast.expr | None:
    if is_argument:
        return call.argument(0)
    return call.node.func.value if isinstance(call.node.func, ast.Attribute) else None


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in function.facts.calls:
        path = _written_path(call)
        if path is not None and not is_temporary_path(function, path) and _is_chosen_here(function, path):
            weak = "it puts the file back" if is_in_finally(function, call.node) else _why_weak(function, path)
            yield sign_for(call, "{} changes files outside of a temporary folder", weak)


def _why_weak(function: ReachedFunction, path: ast.expr) -> str:
    if starts_with_text(function, path) or is_next_to_source(function, path):
        return "" if not function.is_production else "the test may be elsewhere"
    return "the path may be temporary"


def _is_chosen_here(function: ReachedFunction, path: ast.expr) -> bool:
    # In production code and inner functions the caller chooses the path, unless it contains a literal.
    if not function.is_production:
        return not _is_parameter_of_inner_function(function, path)
    return any(isinstance(node, ast.Constant) for node in nodes_of(function.facts.value_of(path)))


def _is_parameter_of_inner_function(function: ReachedFunction, path: ast.expr) -> bool:
    """Whether some name in the path is a parameter of an inner function."""
    names = {node.id for node in nodes_of(path) if isinstance(node, ast.Name)} - function.facts.parameters
    nodes = (node for node in nodes_of(function.node) if node is not function.node)
    return any(isinstance(node, FunctionNode) and not names.isdisjoint(parameter_names(node)) for node in nodes)


RULE = LintRule(
    id="FH501",
    name="file-outside-tmp",
    cause=Cause.IO,
    title="Files outside tmp_path are changed",
    why="Tests that run at the same time, or after an interrupted run, find each other's files.",
    fix="Write below `tmp_path`; pass the folder to the code under test.",
    bad="def test_save(report):\n    with open('out.txt', 'w') as out:\n        report.save(out)\n",
    good="def test_save(report, tmp_path):\n    with open(tmp_path / 'out.txt', 'w') as out:\n       "
    " report.save(out)\n",
    check=in_each_function(_find, unless=is_elsewhere),
)
