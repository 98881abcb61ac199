"""Recorded: paths that must not exist; and recording beside objects that only claim to be modules."""

from __future__ import annotations

import os


def test_what_must_not_exist_is_noted_if_it_exists(record_test):
    told, _outcome = record_test(
        """
        import os
        def test_it(tmp_path):
            os.mkdir(tmp_path / "new")
            for make in (os.mkdir, lambda path: open(path, "x")):
                try:
                    make("taken")
                except OSError:
                    pass
            os.makedirs("also-taken", exist_ok=True)
        """,
        files=["test_it.py"],
        **{"taken": "", "also-taken/file": ""},
    )

    opened = [os.path.basename(path) for path in told["opened"]]
    assert "taken" in opened
    assert not {"new", "also-taken"}.intersection(opened)


def test_an_object_that_claims_to_be_a_module_does_not_stop_the_recording(record_test):
    told, _outcome = record_test(
        """
        import sys, types
        class Library:
            __class__ = types.ModuleType
        sys.modules["library"] = Library()
        def test_it():
            assert 1
        """,
        files=["test_it.py"],
    )

    assert "imported" in told
    assert not [doubt for doubt in told["doubts"] if "recording failed" in doubt]
