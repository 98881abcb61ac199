"""Something is registered or set for the whole process."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.rules._lasting_change import for_lasting_changes
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of

_PROCESS_WIDE_FUNCTIONS = frozenset(
    {
        "asyncio.set_event_loop",
        "asyncio.set_event_loop_policy",
        "atexit.register",
        "codecs.register",
        "copyreg.pickle",
        "decimal.setcontext",
        "django.conf.settings.configure",
        "gettext.install",
        "matplotlib.pyplot.style.use",
        "matplotlib.use",
        "mimetypes.add_type",
        "multiprocessing.set_start_method",
        "numpy.set_printoptions",
        "numpy.seterr",
        "pandas.set_option",
        "signal.alarm",
        "signal.signal",
        "socket.setdefaulttimeout",
        "sys.setprofile",
        "sys.settrace",
        "tensorflow.keras.backend.set_floatx",
        "threading.setprofile",
        "torch.set_default_dtype",
    }
)
_PROCESS_WIDE_SETTINGS = (
    "decimal.getcontext()",
    "django.conf.settings",
    "matplotlib.pyplot.rcParams",
    "matplotlib.rcParams",
    "pandas.options",
)
_REGISTERING_METHODS = (
    "add_handler",
    "add_listener",
    "install",
    "register",
    "register_class",
    "register_type",
    "subscribe",
)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in calls_of(function, _PROCESS_WIDE_FUNCTIONS):
        if id(call.node) not in function.facts.context_manager_calls:
            yield sign_for(call, "{} holds for the whole process")
    for call in function.facts.calls:
        if call.short_name in _REGISTERING_METHODS and call.is_statement and _is_global(function, call.node.func):
            yield sign_for(
                call, "{} registers something for the whole process", "a registry may be the test's own"
            )
    for target, statement in function.facts.assignments:
        inner = target.value if isinstance(target, ast.Attribute | ast.Subscript) else target
        if function.facts.dotted_name(inner).startswith(_PROCESS_WIDE_SETTINGS):
            yield Sign(statement, f"{ast.unparse(target)} holds for the whole process")


def _is_global(function: ReachedFunction, callee: ast.expr) -> bool:
    root = callee
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    is_local = root.id in function.facts.bindings or root.id in function.facts.parameters
    return not is_local and (root.id in function.facts.imports or root.id in function.module.bindings)


RULE = LintRule(
    id="FH908",
    name="global-registry",
    cause=Cause.TEST_ORDER,
    title="Something is registered for the whole process",
    why="Handlers, options and registered classes outlive the test and affect the next one.",
    fix="Undo it in a fixture after `yield`, or use a registry that belongs to the test.",
    bad="import signal\n\ndef test_stop(handler):\n    signal.signal(signal.SIGTERM, handler)\n    "
    "assert stops()\n",
    good="def test_stop(handler):\n    registry = Registry()\n    registry.register(handler)\n    "
    "assert registry.stops()\n",
    check=for_lasting_changes(_find, in_production=False),
)
