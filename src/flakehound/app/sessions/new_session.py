"""Describe a session that is about to be stored: the suite, its versions and the settings of the command."""

from __future__ import annotations

import time
from collections.abc import Iterable

from flakehound.app.sessions.target import commit_of
from flakehound.core.code_state import CodeState
from flakehound.engine.processes.launch import Target
from flakehound.engine.suite.open_suite import OpenSuite
from flakehound.store import SessionCommand, SessionInfo, SessionSettings


def new_session(
    target: Target,
    opened: OpenSuite,
    *,
    command: SessionCommand,
    seed: int,
    trace_mode: str = "",
    code_state: CodeState | None = None,
    continues: Iterable[SessionInfo] = (),
) -> SessionInfo:
    """A session of this suite that starts now."""
    handshake = opened.handshake
    settings = SessionSettings(
        command=command,
        python=target.python,
        pytest_args=target.pytest_args,
        keep_plugins=target.keep_plugins,
        memory_bytes=target.memory_bytes,
        rootdir=handshake.rootdir,
        switched_off=tuple(sorted(handshake.switched_off)),
        hash_seed=opened.hash_seed,
        self_seeded=tuple(opened.pool.self_seeded),
        trace_mode=trace_mode,
        code_state=code_state or CodeState(),
        continues=tuple(session.uuid for session in continues if session.uuid),
    )
    return SessionInfo(
        rootdir=str(target.cwd),
        python=handshake.python,
        pytest=handshake.pytest,
        commit=commit_of(target.cwd),
        base_seed=seed,
        started_s=time.time(),
        isolation=opened.isolation,
        settings=settings,
    )
