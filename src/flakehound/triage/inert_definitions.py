"""Recognise definitions that have no effect but to make pytest marks and values."""

from __future__ import annotations

import ast

from flakehound.triage.python_source import FunctionNode

_VALUES = (
    *(ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Starred, ast.keyword),
    *(ast.Tuple, ast.List, ast.Set, ast.Dict, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare),
    *(ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
)


def is_inert_function(node: FunctionNode) -> bool:
    """Whether defining the function evaluates only marks, default values and annotations without calls."""
    arguments = [child for child in ast.walk(node.args) if isinstance(child, ast.arg)]
    values = [
        *(default for default in (*node.args.defaults, *node.args.kw_defaults) if default),
        *(argument.annotation for argument in arguments if argument.annotation),
        *([node.returns] if node.returns else []),
    ]
    has_type_parameters = bool(getattr(node, "type_params", []))
    return not has_type_parameters and all(map(_is_mark, node.decorator_list)) and all(map(_is_value, values))


def is_inert_class(node: ast.ClassDef) -> bool:
    """Whether a class statement, without its body, evaluates only marks."""
    has_parameters = bool(node.keywords or getattr(node, "type_params", []))
    return not has_parameters and all(map(_is_mark, node.decorator_list))


def is_inert_statement(node: ast.stmt) -> bool:
    """Whether a statement of a class body does nothing but assign a value."""
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Name) for target in node.targets) and _is_value(node.value)
    if isinstance(node, ast.AnnAssign):
        values = [node.annotation, *([node.value] if node.value else [])]
        return isinstance(node.target, ast.Name) and all(map(_is_value, values))
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _is_mark(decorator: ast.expr) -> bool:
    # Python calls every decorator with the function. Only pytest's marks are known to have no other effect.
    if isinstance(decorator, ast.Call):
        return _names_a_mark(decorator.func) and _is_value(decorator)
    return _names_a_mark(decorator)


def _is_value(node: ast.AST) -> bool:
    if isinstance(node, ast.Lambda):
        return not (node.args.defaults or node.args.kw_defaults)  # its body runs only when it is called
    if isinstance(node, ast.Call):
        known = _names_a_mark(node.func) or ast.unparse(node.func) == "pytest.param"
        return known and all(map(_is_value, [*node.args, *node.keywords]))
    return isinstance(node, _VALUES) and all(map(_is_value, ast.iter_child_nodes(node)))


def _names_a_mark(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pytest.mark"
