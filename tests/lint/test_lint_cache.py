"""Cached answers: they are unchanged, and used only while the code that computed them is unchanged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from lint_samples import write_files

import flakehound
from flakehound.app.lint import cache
from flakehound.app.lint.cache import AnswerCodec
from flakehound.app.lint.files import scan
from flakehound.app.lint.run import all_cases, analyse_project
from flakehound.lint.analyse import case_ids
from flakehound.lint.encoding import decode_analyses, encode_analyses

IDS = AnswerCodec(name="ids", encode=list, decode=tuple)
PROJECT = {
    "pytest.ini": "",
    "shop.py": "class Cart:\n    def total(self):\n        return 1\n",
    "conftest.py": "import pytest, time\n\n@pytest.fixture\ndef wait():\n    time.sleep(1)\n",
    "test_shop.py": (
        "import random\nfrom shop import Cart\n\n"
        "def test_total(wait):\n    assert Cart().total() == random.random()\n\n"
        "def test_ignored():\n    random.random()  # flakehound: ignore[FH101] a reason\n"
    ),
}


def test_analyses_are_the_same_after_encoding(tmp_path):
    analyses = tuple(all_cases(analyse_project((), cwd=write_files(tmp_path, PROJECT), cached=False)))

    assert decode_analyses(json.loads(json.dumps(encode_analyses(analyses)))) == analyses
    assert [len(case.findings) for case in analyses] == [2, 0]
    assert [case.suppressed for case in analyses] == [0, 1]


def test_cached_analyses_equal_those_that_were_computed(tmp_path):
    folder = write_files(tmp_path, PROJECT)
    first = analyse_project((), cwd=folder)

    again = analyse_project((), cwd=folder)

    assert (first.reused, again.reused) == (0, 1)
    assert again.answers == first.answers


def test_the_code_of_answers_contains_every_module_that_an_analysis_imports():
    program = (
        "import sys; from flakehound.lint.rules.registry import all_rules; all_rules();"
        "import flakehound.lint.analyse, flakehound.lint.encoding;"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.partition('.')[0].startswith('flakehound')))"
    )

    imported = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    # `flakehound/__init__.py` contains no code of answers; its version is part of the key.
    needed = set(map(Path, imported.split())) - {Path(flakehound.__file__)}
    assert len(needed) > 80
    assert needed <= set(cache.code_of_answers())
    assert {"analyse.py", "files.py", "cache.py"} <= {file.name for file in cache.code_of_answers()}


@pytest.mark.parametrize("edited", [True, False])
def test_an_edit_of_the_code_invalidates_its_answers(edited, tmp_path, monkeypatch):
    folder = write_files(tmp_path / "project", {"pytest.ini": "", "test_a.py": "def test_it(): pass\n"})
    code = tmp_path / "rule.py"
    code.write_text("before = 1\n")
    monkeypatch.setattr(cache, "code_of_answers", lambda: [code])
    scan([], case_ids, codec=IDS, cwd=folder)
    if edited:
        code.write_text("after = 1\n")

    assert scan([], case_ids, codec=IDS, cwd=folder).reused == (0 if edited else 1)


@pytest.mark.parametrize("answer", ["1", '{"inputs": {}}', '{"inputs": {}, "answer": 1, "unparsable": []}'])
def test_a_damaged_answer_is_computed_again(answer, tmp_path):
    folder = write_files(tmp_path, {"pytest.ini": "", "test_a.py": "def test_it(): pass\n"})
    first = scan([], case_ids, codec=IDS, cwd=folder)
    file = folder / ".flakehound" / "lint" / "cache.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, "files": {"test_a.py": json.loads(answer)}}))

    again = scan([], case_ids, codec=IDS, cwd=folder)

    assert again.reused == 0
    assert again.answers == first.answers
