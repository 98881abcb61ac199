"""Small changes of Python source and data files that are likely to break a test: mutants."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One small change of one file."""

    path: str
    kind: str
    start: int  # byte offset of the replaced part
    end: int
    text: bytes  # the replacement

    def applied_to(self, content: bytes) -> bytes:
        """The content of the file with this change."""
        return content[: self.start] + self.text + content[self.end :]


def mutants_of(path: str, content: bytes) -> Iterator[Mutant]:
    """All mutants of a Python file; some do not compile."""
    starts = _line_starts(content)
    for kind, node, text in _edits(ast.parse(content)):
        start, end = _byte_range(node, starts)
        if kind == "raise in function":
            end = start
            text = f"{text}\n{' ' * _column(content, start)}"
        yield Mutant(path=path, kind=kind, start=start, end=end, text=text.encode())


def data_mutants_of(path: str, content: bytes) -> Iterator[Mutant]:
    """Two mutants of a data file: without its second half, and with one digit changed."""
    if len(content) > 40:
        yield Mutant(path=path, kind="data file", start=len(content) // 2, end=len(content), text=b"\n")
    digits = [offset for offset, byte in enumerate(content) if chr(byte).isdigit()]
    if digits:
        offset = digits[len(digits) // 2]
        other = b"%d" % ((content[offset] - ord("0") + 1) % 10)
        yield Mutant(path=path, kind="data file", start=offset, end=offset + 1, text=other)


def changes_program(mutant: Mutant, content: bytes) -> bool:
    """Whether a mutant compiles and differs in more than layout; slow for a large file."""
    if not mutant.path.endswith(".py"):
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(mutant.applied_to(content), "<mutant>", "exec", dont_inherit=True)
        return ast.dump(ast.parse(mutant.applied_to(content))) != ast.dump(ast.parse(content))
    except (SyntaxError, ValueError):
        return False


_Edit = tuple[str, ast.AST, str]  # kind, the replaced node, its replacement
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_OTHER_OPERATORS: dict[type[ast.AST], ast.AST] = {
    ast.Add: ast.Sub(), ast.Sub: ast.Add(), ast.Mult: ast.Add(), ast.FloorDiv: ast.Mult(), ast.Div: ast.Mult(),
    ast.Mod: ast.Mult(), ast.Lt: ast.GtE(), ast.LtE: ast.Gt(), ast.Gt: ast.LtE(), ast.GtE: ast.Lt(),
    ast.Eq: ast.NotEq(), ast.NotEq: ast.Eq(), ast.Is: ast.IsNot(), ast.IsNot: ast.Is(), ast.In: ast.NotIn(),
    ast.NotIn: ast.In(), ast.And: ast.Or(), ast.Or: ast.And(),
}  # fmt: skip


def _edits(tree: ast.Module) -> Iterator[_Edit]:
    yield from _module_edits(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from _class_edits(node)
        if isinstance(node, _FUNCTIONS):
            yield from _function_edits(node)


def _module_edits(tree: ast.Module) -> Iterator[_Edit]:
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            constants = [part for part in ast.walk(node.value) if isinstance(part, ast.Constant)]
            yield from (("module constant", constant, _other_value(constant)) for constant in constants[:3])


def _class_edits(node: ast.ClassDef) -> Iterator[_Edit]:
    yield from (("decorator", decorator, _IDENTITY) for decorator in node.decorator_list)
    for statement in node.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            yield "class constant", statement.value, _other_value(statement.value)


_IDENTITY = "(lambda undecorated: undecorated)"


def _function_edits(function: Any) -> Iterator[_Edit]:
    yield from (("decorator", decorator, _IDENTITY) for decorator in function.decorator_list)
    for default in (*function.args.defaults, *function.args.kw_defaults):
        if isinstance(default, ast.Constant):
            yield "default argument", default, _other_value(default)
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    if body and body[0].lineno > function.lineno:
        yield "raise in function", body[0], "raise RuntimeError('mutant')"
    for statement in body:
        for node in ast.walk(statement):
            yield from _body_edits(node)


def _body_edits(node: ast.AST) -> Iterator[_Edit]:
    if isinstance(node, ast.JoinedStr):
        return
    if isinstance(node, ast.Constant):
        yield "constant", node, _other_value(node)
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "condition", node.test, f"(not ({ast.unparse(node.test)}))"
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.Compare):
        yield "operator", node, f"({ast.unparse(_with_other_operator(node))})"
    elif isinstance(node, ast.Return) and node.value is not None:
        yield "return value", node.value, "None"
    elif isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Raise):
        yield "deleted statement", node, "pass"


def _with_other_operator(node: Any) -> ast.AST:
    copy: Any = ast.parse(ast.unparse(node), mode="eval").body
    if isinstance(copy, ast.Compare):
        copy.ops[0] = _OTHER_OPERATORS.get(type(copy.ops[0]), copy.ops[0])
    else:
        copy.op = _OTHER_OPERATORS.get(type(copy.op), copy.op)
    changed: ast.AST = copy
    return changed


def _other_value(node: ast.Constant) -> str:
    value: Any = node.value
    if isinstance(value, bool):
        return repr(not value)
    if isinstance(value, int | float):
        return repr(value + 1)
    return repr(value * 2) if value and isinstance(value, str | bytes) else "'mutant'"


def _line_starts(content: bytes) -> list[int]:
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _byte_range(node: Any, starts: Sequence[int]) -> tuple[int, int]:
    return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset


def _column(content: bytes, start: int) -> int:
    return start - (content.rfind(b"\n", 0, start) + 1)
