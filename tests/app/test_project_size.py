"""The number of tests of a project, counted without parsing."""

from __future__ import annotations

from flakehound.app.lint.project_size import count_test_functions


def test_functions_and_methods_of_all_test_files_count(tmp_path):
    (tmp_path / "test_a.py").write_text("def test_one(): pass\n\nasync def test_two(): pass\n\ndef help(): pass\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_b.py").write_text(
        "class TestB:\n    def test_three(self): pass\n    # def test_\n"
    )
    (tmp_path / "shop.py").write_text("def test_data(): pass\n")

    assert count_test_functions(tmp_path) == 3


def test_a_folder_without_tests_has_none(tmp_path):
    assert count_test_functions(tmp_path) == 0
