"""Something is registered or set for the whole process."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.rules._lasting_change import lasting_change
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of

_NAMES = frozenset(
    ("atexit.register", "signal.signal", "signal.alarm", "codecs.register", "socket.setdefaulttimeout",
        "copyreg.pickle",
     "warnings.simplefilter", "warnings.filterwarnings", "numpy.seterr", "numpy.set_printoptions",
     "pandas.set_option",
     "matplotlib.use", "matplotlib.pyplot.style.use", "decimal.setcontext", "gettext.install",
     "mimetypes.add_type",
     "asyncio.set_event_loop", "asyncio.set_event_loop_policy", "threading.setprofile", "sys.settrace",
     "torch.set_default_dtype",
     "tensorflow.keras.backend.set_floatx", "django.conf.settings.configure",
     "multiprocessing.set_start_method", "sys.setprofile")
)  # fmt: skip
_TABLES = (
    "matplotlib.rcParams",
    "matplotlib.pyplot.rcParams",
    "django.conf.settings",
    "decimal.getcontext()",
    "pandas.options",
)
_REGISTERING = (
    "register",
    "subscribe",
    "add_handler",
    "install",
    "register_type",
    "register_class",
    "add_listener",
)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in calls_of(function, _NAMES):
        if id(call.node) not in function.facts.context_manager_calls and not _is_guarded(function, call.name):
            yield sign_for(call, "{} holds for the whole process")
    for call in function.facts.calls:
        if call.short_name in _REGISTERING and call.is_statement and _is_global(function, call.node.func):
            yield sign_for(call, "{} registers something for the whole process")
    for target, statement in function.facts.assignments:
        inner = target.value if isinstance(target, ast.Attribute | ast.Subscript) else target
        if function.facts.dotted_name(inner).startswith(_TABLES):
            yield Sign(statement, f"{ast.unparse(target)} holds for the whole process")


def _is_guarded(function: ReachedFunction, name: str) -> bool:
    return name.startswith("warnings.") and any("catch_warnings" in call.name for call in function.facts.calls)


def _is_global(function: ReachedFunction, callee: ast.expr) -> bool:
    root = callee
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    local = root.id in function.facts.bindings or root.id in function.facts.parameters
    return not local and (root.id in function.facts.imports or root.id in function.module.bindings)


RULE = LintRule(
    id="FH908",
    name="global-registry",
    cause=Cause.TEST_ORDER,
    title="Something is registered for the whole process",
    why="Handlers, options and registered classes outlive the test and meet those of the next one.",
    fix="Take it back in a fixture after `yield`, or give the test a registry of its own.",
    bad="import signal\n\ndef test_stop(handler):\n    signal.signal(signal.SIGTERM, handler)\n    "
    "assert stops()\n",
    good="def test_stop(handler):\n    registry = Registry()\n    registry.register(handler)\n    "
    "assert registry.stops()\n",
    check=lasting_change(_find, in_production=False),
)
