"""`flakehound polluter`."""

from __future__ import annotations

import json

import pytest
from cli_projects import flakehound_in, parsed, paste, remedy_in, write_project


def test_the_polluter_of_a_victim_is_found_with_a_command_that_fails(shop):
    said = flakehound_in(shop.folder, "polluter", "test_shop.py::test_victim")

    assert said.code == 1, said.err
    assert said.out.startswith("VICTIM  test_shop.py::test_victim")
    plain = said.out.splitlines()[-1].strip()
    assert plain.endswith("-m pytest test_shop.py::test_ban test_shop.py::test_victim")
    assert paste(shop.folder, plain).code == 1


def test_the_state_setter_of_a_brittle_test_is_found(shop):
    said = flakehound_in(shop.folder, "polluter", "test_shop.py::test_brittle")

    assert said.code == 1, said.err
    assert said.out.startswith("BRITTLE")
    assert "test_shop.py::test_open" in said.out


def test_polluters_that_are_needed_together_are_found(tmp_path):
    folder = write_project(
        tmp_path / "joint",
        {
            "test_j.py": """
                seen = set()

                def test_victim():
                    assert not {"a", "b"} <= seen

                def test_a():
                    seen.add("a")

                def test_calm():
                    pass

                def test_b():
                    seen.add("b")
            """
        },
    )

    said = flakehound_in(folder, "polluter", "--json", "answer.json", "test_j.py::test_victim")

    assert said.code == 1, said.err
    answer = json.loads((folder / "answer.json").read_text())
    assert answer["kind"] == "victim"
    assert answer["joint"] is True
    assert set(answer["polluters"]) == {"test_j.py::test_a", "test_j.py::test_b"}


def test_a_steady_test_is_called_steady(shop):
    said = flakehound_in(shop.folder, "polluter", "test_shop.py::test_steady")

    assert said.code == 0
    assert said.out.startswith("STEADY")


def test_a_failing_test_is_called_failing(shop):
    said = flakehound_in(shop.folder, "polluter", "test_shop.py::test_wrong")

    assert said.code == 0
    assert said.out.startswith("FAILING")


def test_a_victim_of_slow_tests_is_proven(tmp_path):
    folder = write_project(
        tmp_path / "slow",
        {
            "test_s.py": """
                import time
                seen = set()

                def test_victim():
                    time.sleep(0.3)
                    assert not seen

                def test_polluter():
                    time.sleep(0.3)
                    seen.add(1)
            """
        },
    )

    said = flakehound_in(folder, "polluter", "test_s.py::test_victim")

    assert said.code == 1
    assert said.out.startswith("VICTIM")


def test_a_test_the_suite_does_not_have_is_refused_with_the_nearest(shop):
    said = flakehound_in(shop.folder, "polluter", "test_shop.py::test_victmi")

    assert said.code == 2
    assert parsed(remedy_in(said)).params["test"] == "test_shop.py::test_victim"
    assert paste(shop.folder, remedy_in(said)).code == 1


def test_the_search_can_be_limited_to_some_tests(shop):
    said = flakehound_in(shop.folder, "polluter", "--", "test_shop.py::test_victim", "-k", "victim or steady")

    assert said.code == 0
    assert "VICTIM" not in said.out


@pytest.mark.parametrize("limit", ["ages", "0"])
def test_a_time_limit_that_cannot_be_is_refused(project, limit):
    assert flakehound_in(project, "polluter", "--test-timeout", limit, "test_calm.py::test_one").code == 2


def test_a_time_limit_is_kept(tmp_path):
    hangs = "import time\n\n\ndef test_hangs():\n    time.sleep(60)\n"
    folder = write_project(tmp_path / "hangs", {"test_h.py": hangs})

    said = flakehound_in(folder, "polluter", "--test-timeout", "1s", "--jobs", "2", "test_h.py::test_hangs")

    assert said.code == 0
    assert said.out.startswith("FAILING")
