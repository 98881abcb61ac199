"""The assertions of a test: `assert`, unittest's, pytest's, those of mocks and of numpy."""

from __future__ import annotations

import ast

from flakehound.lint.metrics.code import Code, called_name

_OF_PYTEST = frozenset({"raises", "warns", "deprecated_call", "fail"})
_OWNERS = frozenset({"pytest", "self", "cls"})
_OLD_UNITTEST = ("failIf", "failUnless")
_MESSAGES = frozenset({"msg", "message", "err_msg", "reason"})
# Positional arguments before the message, where they are not two.
_BEFORE_MESSAGE = {
    "assertTrue": 1,
    "assertFalse": 1,
    "assertIsNone": 1,
    "assertIsNotNone": 1,
    "assertAlmostEqual": 3,
    "assertNotAlmostEqual": 3,
    "fail": 0,
}
# Their own message says what was expected and where.
_SPEAKING = ("raises", "warns", "deprecated_call", "assertRaises", "assertWarns", "assertLogs", "assertNoLogs")

Assertion = ast.Assert | ast.Call


def assertions(code: Code) -> list[Assertion]:
    """Every assertion, those of inner functions too."""
    return [*code.all(ast.Assert), *(call for call in code.all(ast.Call) if _is_assertion(call))]


def _is_assertion(call: ast.Call) -> bool:
    name = called_name(call)
    if name.startswith("assert"):
        return True
    if name in _OF_PYTEST or name.startswith(_OLD_UNITTEST):
        target = call.func
        owner = target.value if isinstance(target, ast.Attribute) else None
        return owner is None or (isinstance(owner, ast.Name) and owner.id in _OWNERS)
    return False


def is_documented(assertion: Assertion) -> bool:
    """Whether a failure comes with words of its own: a message, or a check that names what it expected."""
    if isinstance(assertion, ast.Assert):
        return assertion.msg is not None
    name = called_name(assertion)
    if name.startswith(_SPEAKING) or any(one.arg in _MESSAGES for one in assertion.keywords):
        return True
    takes_message = name in _BEFORE_MESSAGE or name[6:7].isupper()  # unittest's, such as assertEqual
    return takes_message and len(assertion.args) > _BEFORE_MESSAGE.get(name, 2)


def checked(assertion: Assertion) -> list[ast.expr]:
    """The expressions that are checked, without the message."""
    if isinstance(assertion, ast.Assert):
        return [assertion.test]
    return [*assertion.args, *(one.value for one in assertion.keywords if one.arg not in _MESSAGES)]
