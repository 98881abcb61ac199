"""The settings of a session, and their encoding for the `options` column of the store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum

from flakehound.core.code_state import CodeState, code_state_from


class SessionCommand(Enum):
    """The command that made a session."""

    HUNT = "hunt"
    FEATURES = "features"
    CALLS = "calls"
    PYTEST = "pytest"  # a plain pytest run with our plugin
    UNKNOWN = "unknown"  # of another version of flakehound


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """The settings of a session. Which of them are stored depends on the command."""

    command: SessionCommand = SessionCommand.HUNT
    python: str = "python"  # path of the suite's interpreter
    pytest_args: tuple[str, ...] = ()  # the user's own
    keep_plugins: tuple[str, ...] = ()  # plugins that the user wants to keep active
    memory_bytes: int | None = None  # the limit of one process; None: none
    rootdir: str = ""  # as pytest determined it; empty: not known
    switched_off: tuple[str, ...] = ()  # pytest plugins
    hash_seed: int = 0  # PYTHONHASHSEED of the collected session
    self_seeded: tuple[str, ...] = ()  # random generators that the project seeds itself
    trace_mode: str = ""  # which calls were traced
    branch: str = ""  # of git, checked out at a plain pytest run
    code_state: CodeState = field(default_factory=CodeState)  # when the hunt began; empty: not known
    continues: tuple[str, ...] = ()  # uuids of the earlier hunts whose runs count for this one


# The stored keys of each command, in the order in which they are written; a hunt stores no "command".
_STORED_KEYS = {
    SessionCommand.HUNT: (
        "python",
        "pytest_args",
        "keep_plugins",
        "memory_bytes",
        "rootdir",
        "switched_off",
        "hash_seed",
        "self_seeded",
    ),
    SessionCommand.FEATURES: ("command", "python", "pytest_args"),
    SessionCommand.CALLS: ("command", "python", "pytest_args", "rootdir", "mode"),
    SessionCommand.PYTEST: ("command", "branch"),
    SessionCommand.UNKNOWN: ("command",),
}


def settings_json(settings: SessionSettings) -> str:
    """The settings as stored: a JSON object of strings."""
    encoded = {
        "command": settings.command.value,
        "python": settings.python,
        "pytest_args": json.dumps(settings.pytest_args),
        "keep_plugins": json.dumps(settings.keep_plugins),
        "memory_bytes": json.dumps(settings.memory_bytes),
        "rootdir": settings.rootdir,
        "switched_off": json.dumps(settings.switched_off),
        "hash_seed": str(settings.hash_seed),
        "self_seeded": json.dumps(settings.self_seeded),
        "mode": settings.trace_mode,
        "branch": settings.branch,
    }
    stored = {key: encoded[key] for key in _STORED_KEYS[settings.command]}
    # Only where they are known: other sessions look as in stores of earlier versions.
    if settings.code_state != CodeState():
        stored["code_state"] = json.dumps(asdict(settings.code_state))
    if settings.continues:
        stored["continues"] = json.dumps(settings.continues)
    return json.dumps(stored, ensure_ascii=False)


def settings_from_json(text: str) -> SessionSettings:
    """The settings from their stored form; missing keys have their defaults."""
    stored: Mapping[str, str] = json.loads(text)
    return SessionSettings(
        command=_command(stored.get("command", SessionCommand.HUNT.value)),
        python=stored.get("python", "python"),
        pytest_args=_texts(stored, "pytest_args"),
        keep_plugins=_texts(stored, "keep_plugins"),
        memory_bytes=json.loads(stored.get("memory_bytes", "null")),
        rootdir=stored.get("rootdir", ""),
        switched_off=_texts(stored, "switched_off"),
        hash_seed=int(stored.get("hash_seed", "0")),
        self_seeded=_texts(stored, "self_seeded"),
        trace_mode=stored.get("mode", ""),
        branch=stored.get("branch", ""),
        code_state=code_state_from(json.loads(stored.get("code_state", "{}"))),
        continues=_texts(stored, "continues"),
    )


def _command(name: str) -> SessionCommand:
    by_name = {command.value: command for command in SessionCommand}
    return by_name.get(name, SessionCommand.UNKNOWN)


def _texts(stored: Mapping[str, str], key: str) -> tuple[str, ...]:
    return tuple(json.loads(stored.get(key, "[]")))
