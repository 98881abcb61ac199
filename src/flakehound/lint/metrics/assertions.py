"""Find the assertions of a test: `assert`, and those of unittest, pytest, mocks and numpy."""

from __future__ import annotations

import ast

from flakehound.lint.metrics.code_nodes import Code, called_name

_PYTEST_ASSERTIONS = frozenset({"raises", "warns", "deprecated_call", "fail"})
_OBJECTS_WITH_ASSERTIONS = frozenset({"pytest", "self", "cls"})
_OLD_UNITTEST_PREFIXES = ("failIf", "failUnless")
_MESSAGE_KEYWORDS = frozenset({"msg", "message", "err_msg", "reason"})
# How many positional arguments come before the message, where it is not two.
_ARGUMENTS_BEFORE_MESSAGE = {
    "assertTrue": 1,
    "assertFalse": 1,
    "assertIsNone": 1,
    "assertIsNotNone": 1,
    "assertAlmostEqual": 3,
    "assertNotAlmostEqual": 3,
    "fail": 0,
}
# Their failure message says what was expected.
_WITH_OWN_MESSAGE = (
    "raises",
    "warns",
    "deprecated_call",
    "assertRaises",
    "assertWarns",
    "assertLogs",
    "assertNoLogs",
)

Assertion = ast.Assert | ast.Call


def assertions(code: Code) -> list[Assertion]:
    """All assertions, also those in inner functions."""
    return [*code.all_nodes(ast.Assert), *(call for call in code.all_nodes(ast.Call) if _is_assertion(call))]


def _is_assertion(call: ast.Call) -> bool:
    name = called_name(call)
    if name.startswith("assert"):
        return True
    if name in _PYTEST_ASSERTIONS or name.startswith(_OLD_UNITTEST_PREFIXES):
        target = call.func
        owner = target.value if isinstance(target, ast.Attribute) else None
        return owner is None or (isinstance(owner, ast.Name) and owner.id in _OBJECTS_WITH_ASSERTIONS)
    return False


def has_message(assertion: Assertion) -> bool:
    """Whether a failure has a message: the test gives one, or the kind of assertion has its own."""
    if isinstance(assertion, ast.Assert):
        return assertion.msg is not None
    name = called_name(assertion)
    if name.startswith(_WITH_OWN_MESSAGE) or any(
        keyword.arg in _MESSAGE_KEYWORDS for keyword in assertion.keywords
    ):
        return True
    takes_message = (
        name in _ARGUMENTS_BEFORE_MESSAGE or name[6:7].isupper()
    )  # an assertion of unittest, such as assertEqual
    return takes_message and len(assertion.args) > _ARGUMENTS_BEFORE_MESSAGE.get(name, 2)


def checked_expressions(assertion: Assertion) -> list[ast.expr]:
    """The expressions that an assertion checks, without its message."""
    if isinstance(assertion, ast.Assert):
        return [assertion.test]
    keywords = [keyword for keyword in assertion.keywords if keyword.arg not in _MESSAGE_KEYWORDS]
    return [*assertion.args, *(keyword.value for keyword in keywords)]
