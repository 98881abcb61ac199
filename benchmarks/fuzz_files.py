"""The files of one state of a random history."""

from __future__ import annotations

import json

from fuzz_history import Function, History, State, value

_FLAKES = {
    "system": "def test_flake():\n    assert SystemRandom().random() > 0.4\n",
    "seeded": "def test_flake():\n    assert random.random() > 0.4\n",
    "value": "def test_flake():\n    assert SystemRandom().randrange(1000) < 550\n",
    "set order": "def test_flake():\n    assert list({'alpha', 'beta', 'gamma'})[0] != 'alpha'\n",
    "polluter": "S = []\n\n\ndef test_polluter():\n    S.append(1)\n\n\ndef test_victim():\n    assert not S\n",
}


def files_of(history: History, state: State) -> dict[str, str]:
    """Path -> text; the flaky test is in every state."""
    first = history.base[0]
    files = {f"lib/{module}.py": _module(state, module) for module in sorted({f.module for f in state.functions})}
    files["lib/__init__.py"] = ""
    files["tests/test_b_functions.py"] = _tests(first)
    files["tests/test_c_files.py"] = _FILE_TESTS
    for number in range(state.extra_tests):
        files[f"tests/test_y_{number}.py"] = f"def test_extra_{number}():\n    assert True\n"
    files["tests/test_z_leaks.py"] = _leak_test(first)
    files["scripts/answer.py"] = f"print({state.script_answer})\n"
    files["assets/logo.svg"] = state.logo + "\n"
    files |= {"templates/a.txt": "Dear {name}\n", "templates/b.txt": state.template + "\n"}
    files["lib/marked.py"] = f"WIDTH = 3  {state.marker}".rstrip() + "\n"
    if state.has_terms:
        files["assets/terms.txt"] = "all rights\n"
    files |= {f"items/{name}": "an item\n" for name in ("first.txt", *state.extra_items)}
    if not state.data_deleted:
        files["data/numbers.json"] = json.dumps(state.data, indent=None if state.compact else 1) + "\n"
    if state.notes:
        files["notes.txt"] = "\n".join(state.notes) + "\n"
    if history.flake != "none":
        files["tests/test_a_flake.py"] = _flake(history, first)
    return files


def _module(state: State, module: str) -> str:
    head = ["import json", "from pathlib import Path", "from random import SystemRandom", "", "SEEN = []"]
    head += ["LEAKED = []", 'NUMBERS = Path(__file__).parent.parent / "data" / "numbers.json"', "", ""]
    parts = [_function(state, index, one) for index, one in enumerate(state.functions) if one.module == module]
    return "\n".join(head) + "\n" + "\n\n\n".join(parts) + "\n"


def _function(state: State, index: int, one: Function) -> str:
    terms = [f"x * {one.factor}", str(one.offset)]
    if one.swapped:
        terms.reverse()
    lines = [f"def {one.name}(x):"]
    if one.comment:
        lines.append(f"    {one.comment}")
    if one.body:
        lines.append(f"    {one.body}")
    if one.reads_data:
        terms.append(f"json.loads(NUMBERS.read_text())[{index}]")
    if one.calls is not None:
        callee = state.functions[one.calls]
        lines.append(f"    from lib.{callee.module} import {callee.name}")
        terms.append(f"{callee.name}(x)")
    return "\n".join([*lines, f"    return {' + '.join(terms)}"])


def _tests(first: State) -> str:
    modules = sorted({one.module for one in first.functions})
    tests = [
        f"def test_{one.name}():\n    assert {one.module}.{one.name}(3) == {value(first, index, 3)}\n"
        for index, one in enumerate(first.functions)
    ]
    return f"from lib import {', '.join(modules)}\n\n\n" + "\n\n".join(tests)


def _leak_test(first: State) -> str:
    modules = sorted({one.module for one in first.functions})
    leaked = " + ".join(f"{module}.LEAKED" for module in modules)
    return f"from lib import {', '.join(modules)}\n\n\ndef test_z_leaked():\n    assert {leaked} == []\n"


def _flake(history: History, first: State) -> str:
    head = "import random\nfrom random import SystemRandom\n\n"
    if history.flake != "touching":
        return f"{head}\n{_FLAKES[history.flake]}"
    one = first.functions[0]
    body = f"    assert {one.name}(3) == {value(first, 0, 3)}\n    assert SystemRandom().random() > 0.4\n"
    return f"{head}from lib.{one.module} import {one.name}\n\n\ndef test_flake():\n{body}"


_FILE_TESTS = """
import os
import subprocess
import sys
from pathlib import Path
from random import SystemRandom


def test_template():
    name = SystemRandom().choice(["a", "b"])
    assert "{name}" in Path(f"templates/{name}.txt").read_text()


def test_comment():
    assert "# kept" in Path("lib/marked.py").read_text()


def test_terms():
    assert os.path.exists("assets/terms.txt")


def test_script():
    told = subprocess.run([sys.executable, "scripts/answer.py"], capture_output=True, text=True)
    assert told.stdout == "7\\n"


def test_items():
    assert os.listdir("items") == ["first.txt"]


def test_logo():
    assert os.path.getsize("assets/logo.svg") < 20
""".lstrip()
