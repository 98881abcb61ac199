"""Suites with failures, as git repositories with a change: how long does a triage take for all verdicts?"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from plugin_cost import write_installed_flakehound
from running import temporary_folder
from side_by_side import Row, wall_s

MAX_TRIES = 3  # runs until the flake fails
_OURS = ("--flakehound", "--flakehound-json=../out.json")
_GIT = ("git", "-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false")
_CART = "def total(prices):\n    return sum(prices)\n"
_REGRESSION = "from shop.cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
_FLAKE = "from random import SystemRandom\n\n\ndef test_flake():\n    assert SystemRandom().random() < 0.4\n"
_POLLUTER = "import json\n\n\ndef test_polluter():\n    json.shop = 1\n"
_VICTIM = "import json\n\n\ndef test_victim():\n    assert not hasattr(json, 'shop')\n"
_SLOW = "import time\n\n\ndef test_slow():\n    time.sleep(1)\n"


def write_minute(folder: Path) -> None:
    """Write a suite of a minute; its regression, flake and order-dependent failure are far from each other."""
    (folder / "test_10.py").write_text(_POLLUTER)
    for number in range(60):
        (folder / f"test_{20 + number}.py").write_text(_SLOW)
    (folder / "test_35_total.py").write_text(_REGRESSION)
    (folder / "test_50_flake.py").write_text(_FLAKE)
    (folder / "test_70_victim.py").write_text(_VICTIM)


def write_many(folder: Path) -> None:
    """Write 400 tests of 10 ms, of which 200 call one function."""
    sleep = "    time.sleep(0.01)\n"
    tests = "".join(f"def test_{n}():\n{sleep}    assert total([{n}]) == {n}\n\n\n" for n in range(200))
    (folder / "test_many.py").write_text(f"import time\n\nfrom shop.cart import total\n\n\n{tests}")
    others = "".join(f"def test_{n}():\n{sleep}\n\n" for n in range(200))
    (folder / "test_others.py").write_text(f"import time\n\n\n{others}")


def red_rows(python: Path) -> list[Row]:
    """The rows of both suites."""
    minute = _red_row("a suite of a minute, 3 failures", write_minute, python, wanted=3, limit_s=60.0)
    return [minute, _red_row("400 tests of 10 ms, 200 failures", write_many, python, wanted=200, limit_s=90.0)]


def _red_row(job: str, write: Callable[[Path], None], python: Path, *, wanted: int, limit_s: float) -> Row:
    with temporary_folder() as work:
        folder, installed = work / "suite", work / "installed"
        _write_project(folder, write)
        write_installed_flakehound(installed)
        plain_s = wall_s(lambda: _run(python, folder, installed))
        for _ in range(MAX_TRIES):
            took_s = wall_s(lambda: _run(python, folder, installed, *_OURS))
            failures = json.loads((work / "out.json").read_text())["failures"]
            if len(failures) >= wanted:
                break
    named = [f"{failure['id'].rpartition('::')[2]}: {failure['verdict']}" for failure in failures]
    counts = Counter(failure["verdict"] for failure in failures)
    ours = ", ".join(named) if wanted < 10 else f"{dict(counts)}"
    added_s = took_s - plain_s
    return Row(
        job=job,
        ours=f"{took_s:.0f} s; {ours}",
        peer=f"{plain_s:.0f} s",
        measured=f"{added_s:.0f} s after the run",
        goal=f"≤ {limit_s:g} s",
        met=added_s <= limit_s and len(failures) >= wanted,
    )


def _write_project(folder: Path, write: Callable[[Path], None]) -> None:
    (folder / "shop").mkdir(parents=True)
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    (folder / ".gitignore").write_text("__pycache__\n.flakehound\n")
    (folder / "shop/cart.py").write_text(_CART)
    write(folder)
    for words in ("init -q -b main", "add -A", "commit -qm base", "switch -qc work"):
        subprocess.run([*_GIT, *words.split()], cwd=folder, check=True)
    (folder / "shop/cart.py").write_text(_CART.replace("sum(prices)", "sum(prices) + 1"))
    subprocess.run([*_GIT, "commit", "-qam", "a bug"], cwd=folder, check=True)


def _run(python: Path, folder: Path, path: Path, *options: str) -> None:
    env = {**os.environ, "PYTHONPATH": str(path)}
    command = [str(python), "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", *options]
    subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False)
