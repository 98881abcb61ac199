"""Start a pytest session in the suite's own interpreter, with `flakehound_inside` and nothing else of ours."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flakehound.core.plans import RunPlan

# Loads the package from its folder without adding the packages next to it to the suite's import path.
_BOOT = """
import sys, importlib.util as u
f, s, a = sys.argv[1], sys.argv[2], sys.argv[3:]
p = u.spec_from_file_location("flakehound_inside", f + "/__init__.py", submodule_search_locations=[f])
m = sys.modules["flakehound_inside"] = u.module_from_spec(p)
p.loader.exec_module(m)
from flakehound_inside.worker.boot import main
sys.exit(main(s, a))
""".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The suite to run: which interpreter, where, with which pytest arguments."""

    python: str
    cwd: Path
    pytest_args: tuple[str, ...] = ()
    keep_plugins: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)  # in addition to our own environment
    # The same, but only until the suite is collected: libraries read it when they are loaded, and no test sees it.
    env_of_collection: Mapping[str, str] = field(default_factory=dict)
    memory_bytes: int | None = None  # address space of one child; None: no limit
    # JSON as in docs/decisions/0015: the state of random generators with which the last test of an order starts.
    random_state: Path | None = None
    # JSON, path of a file -> how often each of its lines changed; used by measured runs if the file exists.
    churn: Path | None = None
    # Two folders: what the environment imports from the first one is imported from the second one instead.
    moved: tuple[str, str] | None = None


def observation_request(plan: RunPlan, target: Target) -> dict[str, Any]:
    """The part of a request that asks for features and state changes."""
    churn = str(target.churn) if target.churn else None
    measure = {"churn": churn, "lines": plan.measure_lines} if plan.measure_features else None
    return (
        {"measure": measure, "states": plan.compare_state} if plan.measure_features or plan.compare_state else {}
    )


def inside_folder() -> str:
    """The folder of the package that runs in the user's process."""
    spec = importlib.util.find_spec("flakehound_inside")
    assert spec is not None
    assert spec.submodule_search_locations
    return os.path.abspath(spec.submodule_search_locations[0])


def session_environment(target: Target, *, hash_seed: int | None, temporary: Path) -> dict[str, str]:
    """The suite's environment: the user's own, with separate temporary files and a fixed hash seed."""
    env = {**os.environ, **target.env_of_collection, **target.env, "TMPDIR": str(temporary)}
    if hash_seed is not None and "PYTHONHASHSEED" not in os.environ:
        env["PYTHONHASHSEED"] = str(hash_seed)
    env.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(temporary / "hypothesis"))
    return env


def start_session(
    target: Target,
    settings: Mapping[str, Any],
    *,
    folder: Path,
    output: Path,
    hash_seed: int | None,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start one pytest session; its output goes to a file."""
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / "t"
    temporary.mkdir(exist_ok=True)
    settings_path = folder / "settings.json"
    for_target = {
        "keep_plugins": target.keep_plugins,
        "moved": target.moved,
        "env_of_collection": list(target.env_of_collection),
    }
    settings_path.write_text(json.dumps({**for_target, **settings}))
    command = [target.python, "-c", _BOOT, inside_folder(), str(settings_path), *target.pytest_args]
    with open(output, "ab") as output_file:
        return subprocess.Popen(
            command,
            cwd=target.cwd,
            env=session_environment(target, hash_seed=hash_seed, temporary=temporary),
            stdin=subprocess.DEVNULL,
            stdout=output_file,
            stderr=output_file,
            start_new_session=True,
            pass_fds=tuple(pass_fds),
        )
