"""Shell commands in reports, which work when pasted."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from flakehound.core.outcomes import NodeId
from flakehound.core.verdicts import Kind, Replay, Verdict
from flakehound.report.hunt.result import HuntResult
from flakehound.report.pytest_arguments import options_only


def replay_command(result: HuntResult, verdict: Verdict) -> str | None:
    """The command that makes the test fail again; None when no failing run is known."""
    return None if verdict.replay is None else _command_for(result, "replay", verdict.id)


def explain_command(result: HuntResult, verdict: Verdict) -> str:
    """The command that shows everything that is known about the test."""
    return _command_for(result, "explain", verdict.id)


def resume_command(result: HuntResult) -> str:
    """The command that continues an unfinished hunt."""
    return shlex.join(["flakehound", "hunt", "--resume", *_store(result)])


def plain_pytest_command(result: HuntResult, verdict: Verdict) -> str | None:
    """The pytest command that repeats the failing run; None if plain pytest cannot repeat it."""
    replay = verdict.replay
    if replay is None or _needs_our_seed(verdict, replay):
        return None
    return plain_pytest(
        replay, result.python_path, result.pytest_args, cwd=result.cwd, rootdir=result.suite.rootdir
    )


def _needs_our_seed(verdict: Verdict, replay: Replay) -> bool:
    # A NOD test also passes in this order, so a replay that always fails does so because of the seed.
    return verdict.kind is Kind.NOD and replay.seed is not None


def plain_pytest(
    replay: Replay,
    python_path: str,
    pytest_args: Sequence[str],
    *,
    cwd: str = ".",
    rootdir: str | None = None,
) -> str | None:
    """The `python -m pytest` command that does the same; None if our seed decides or a test runs twice.

    Node ids are relative to `rootdir`, arguments to `cwd`; without a `rootdir` both are the same folder.
    """
    order_decides = replay.seed is None or 0 < replay.runs == replay.failed
    runs_twice = len(set(replay.order)) < len(replay.order)
    if not replay.order or not order_decides or runs_twice:
        return None
    tests = [_relative_id(cwd, rootdir, test) for test in replay.order]
    command = shlex.join([python_path, "-m", "pytest", *options_only(pytest_args, cwd), *tests])
    return command if replay.hash_seed is None else f"PYTHONHASHSEED={replay.hash_seed} {command}"


def _relative_id(cwd: str, rootdir: str | None, test: NodeId) -> str:
    # realpath, because ".." in a relative path does not lead back through a symbolic link.
    here, root = os.path.realpath(cwd), os.path.realpath(rootdir or cwd)
    if here == root:
        return test
    path, separator, name = test.partition("::")
    return os.path.relpath(os.path.join(root, path), here) + separator + name


def _command_for(result: HuntResult, command: str, test: NodeId) -> str:
    return shlex.join(["flakehound", command, *_store(result), test])


def _store(result: HuntResult) -> list[str]:
    return [] if result.store is None else ["--store", result.store]
