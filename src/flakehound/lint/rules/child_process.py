"""Another program is started."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part, in_each
from flakehound.lint.rules._values import matching, told

_NAMES = frozenset(
    ("subprocess.run", "subprocess.Popen", "subprocess.call", "subprocess.check_call",
        "subprocess.check_output", "os.system",
     "os.popen", "pexpect.spawn", "subprocess.getoutput", "subprocess.getstatusoutput",
     "asyncio.create_subprocess_exec",
     "asyncio.create_subprocess_shell", "plumbum.local", "sh.Command", "delegator.run", "os.kill",
     "os.execv", "envoy.run")
)  # fmt: skip


def _look(part: Part) -> Iterator[Sign]:
    for call in matching(part, _NAMES):
        yield told(call, "{} starts or stops another program, whose speed and environment are not the test's")


RULE = Rule(
    id="FH505",
    name="child-process",
    cause=Cause.ENVIRONMENT,
    title="Another program is started",
    why="The program must be installed, find the same environment, and be as fast as the test hopes.",
    fix="Call the entry point in the process, or wait for the program's end and check its exit "
    "status and version.",
    bad="import subprocess\n\ndef test_cli():\n    assert subprocess.check_output(['git', 'status'])\n",
    good="def test_cli(capsys):\n    main(['status'])\n    assert 'clean' in capsys.readouterr().out\n",
    check=in_each(_look),
)
