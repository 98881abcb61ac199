"""Record what another checkout of flakehound answers: `python tests/contract/record.py OTHER-PYTHON`.

OTHER-PYTHON is the interpreter of the version whose answers are to be kept. It hunts the project beside this file
once, traces it, runs it with `--flakehound`, and keeps the store; then every command of `commands.py` with what it
printed and wrote.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from commands import COMMANDS, HERE, OUTPUTS, RECORDED, STORE, lay_out, move_store, normalised

ENVIRONMENT = {**os.environ, "TZ": "UTC", "COLUMNS": "80", "NO_COLOR": "1"}


def main(python: str) -> None:
    """Record the store, then the answers."""
    RECORDED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        store = recorded_store(python, Path(folder))
    (RECORDED / "store.db.gz").write_bytes(gzip.compress(store, mtime=0))
    answers = {name: answer_of(python, words, store) for name, words in COMMANDS.items()}
    _write("answers.json", answers)
    with tempfile.TemporaryDirectory() as folder:
        found = subprocess.run(
            [python, HERE / "surface.py"], capture_output=True, text=True, check=True, cwd=folder, env=ENVIRONMENT
        )
    _write("surface.json", json.loads(found.stdout))


def recorded_store(python: str, folder: Path) -> bytes:
    """The store of a hunt, a trace and a triage of the project."""
    lay_out(folder, store=b"")
    (folder / STORE).unlink()
    (folder / "tests" / "test_smells.py").unlink()
    for words in (
        ["-m", "flakehound", "hunt", "--budget", "25s", "--seed", "7", "--measure", "--store", STORE],
        ["-m", "flakehound", "calls", "--seed", "7", "--store", STORE],
        ["-m", "pytest", "-p", "no:randomly", "-q", "--flakehound", f"--flakehound-store={STORE}"],
    ):
        subprocess.run([python, *words], cwd=folder, env=ENVIRONMENT, check=False)
    move_store(folder / STORE)
    return (folder / STORE).read_bytes()


def answer_of(python: str, words: list[str], store: bytes) -> dict[str, object]:
    """What one command prints, writes and leaves with."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        lay_out(folder, store)
        found = subprocess.run(
            [python, "-m", "flakehound", *words], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True
        )
        files = {out: (folder / out).read_text() for out in OUTPUTS if (folder / out).exists()}
        texts = {"out": found.stdout, "err": found.stderr}
    return {
        "code": found.returncode,
        **{stream: normalised(text, folder, python) for stream, text in texts.items()},
        "files": {out: normalised(text, folder, python) for out, text in files.items()},
    }


def _write(name: str, content: object) -> None:
    (RECORDED / name).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
