"""Another program is started."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of

_PROCESS_FUNCTIONS = frozenset(
    {
        "asyncio.create_subprocess_exec",
        "asyncio.create_subprocess_shell",
        "delegator.run",
        "envoy.run",
        "os.execv",
        "os.kill",
        "os.popen",
        "os.system",
        "pexpect.spawn",
        "plumbum.local",
        "sh.Command",
        "subprocess.Popen",
        "subprocess.call",
        "subprocess.check_call",
        "subprocess.check_output",
        "subprocess.getoutput",
        "subprocess.getstatusoutput",
        "subprocess.run",
    }
)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in calls_of(function, _PROCESS_FUNCTIONS):
        message = "{} starts or stops another program, whose speed and environment are not the test's"
        yield sign_for(call, message, _why_weak(function, call))


def _why_weak(function: ReachedFunction, call: Call) -> str:
    first = call.argument(0, "args")
    names = function.facts.names_in(first) if first is not None else set()
    return "the program is this Python" if "sys.executable" in names else ""


RULE = LintRule(
    id="FH505",
    name="child-process",
    cause=Cause.ENVIRONMENT,
    title="Another program is started",
    why="The program must be installed, find the same environment, and be as fast as the test hopes.",
    fix="Call the entry point in the process, or wait for the program's end and check its exit "
    "status and version.",
    bad="import subprocess\n\ndef test_cli():\n    assert subprocess.check_output(['git', 'status'])\n",
    good="def test_cli(capsys):\n    main(['status'])\n    assert 'clean' in capsys.readouterr().out\n",
    check=in_each_function(_find),
)
