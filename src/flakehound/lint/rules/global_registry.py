"""Something is registered or set for the whole process."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part
from flakehound.lint.rules._lasting import lasting
from flakehound.lint.rules._values import matching, told

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


def _look(part: Part) -> Iterator[Sign]:
    for call in matching(part, _NAMES):
        if id(call.node) not in part.sights.entered and not _is_guarded(part, call.name):
            yield told(call, "{} holds for the whole process")
    for call in part.sights.calls:
        if call.last in _REGISTERING and call.is_statement and _is_global(part, call.node.func):
            yield told(call, "{} registers something for the whole process")
    for target, statement in part.sights.assigned:
        inner = target.value if isinstance(target, ast.Attribute | ast.Subscript) else target
        if part.sights.dotted(inner).startswith(_TABLES):
            yield Sign(statement, f"{ast.unparse(target)} holds for the whole process")


def _is_guarded(part: Part, name: str) -> bool:
    return name.startswith("warnings.") and any("catch_warnings" in call.name for call in part.sights.calls)


def _is_global(part: Part, function: ast.expr) -> bool:
    root = function
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    local = root.id in part.sights.bound or root.id in part.sights.parameters
    return not local and (root.id in part.sights.imports or root.id in part.surroundings.bound)


RULE = Rule(
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
    check=lasting(_look, production=False),
)
