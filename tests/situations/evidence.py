"""Class 1: tests that pass at the base and fail here, but seem not to touch the change."""

from __future__ import annotations

from .project import Project
from .situation import Situations

EVIDENCE = Situations("1-evidence")

CART = """
    \"\"\"Sums.\"\"\"


    def total(prices):
        \"\"\"The sum; raises nothing.\"\"\"
        return sum(prices)  # no tax
"""
OTHER = "def test_other():\n    assert True\n"


@EVIDENCE.add("test_words", quick=True)
def the_store_knows_a_pass_and_a_program_reads_the_changed_text(project: Project) -> None:
    test = """
        import subprocess


        def test_words():
            told = subprocess.run(["wc", "-w", "notes/terms.md"], capture_output=True, text=True)
            assert told.stdout.split()[0] == "4"
    """
    project.start({"notes/terms.md": "one two three four\n", "tests/test_notes.py": test})
    project.stored()
    project.write("notes/terms.md", "one two three\n")
    project.commit()


@EVIDENCE.add("test_documented")
def the_store_knows_a_pass_and_only_a_docstring_changed(project: Project) -> None:
    test = """
        from shop import cart


        def test_documented():
            assert "raises" in cart.total.__doc__
    """
    project.start({"shop/cart.py": CART, "tests/test_doc.py": test, "tests/test_other.py": OTHER})
    project.stored()
    project.replace("shop/cart.py", "; raises nothing", "")


@EVIDENCE.add("test_comments")
def the_store_knows_a_pass_and_only_a_comment_changed(project: Project) -> None:
    test = """
        import os
        import tokenize


        def test_comments():
            with tokenize.open(os.path.join("shop", "cart.py")) as file:
                kinds = [token.type for token in tokenize.generate_tokens(file.readline)]
            assert tokenize.COMMENT in kinds
    """
    project.start({"shop/cart.py": CART, "tests/test_comments.py": test})
    project.stored()
    project.replace("shop/cart.py", "  # no tax", "")
    project.commit()


@EVIDENCE.add("test_can_be_started")
def the_only_test_looks_at_the_mode_of_a_script(project: Project) -> None:
    test = """
        import subprocess


        def test_can_be_started():
            assert subprocess.run(["test", "-x", "bin/go"]).returncode == 0
    """
    project.write("bin/go", "#!/bin/sh\n")
    (project.folder / "bin/go").chmod(0o755)
    project.start({"tests/test_mode.py": test})
    project.stored()
    (project.folder / "bin/go").chmod(0o644)
    project.commit()


@EVIDENCE.add("test_hints")
def the_store_knows_a_pass_and_only_an_annotation_changed(project: Project) -> None:
    cart = "def total(prices: list) -> int:\n    return sum(prices)\n"
    test = """
        import typing

        from shop.cart import total


        def test_hints():
            assert typing.get_type_hints(total)["return"] is int
    """
    project.start({"shop/cart.py": cart, "tests/test_hints.py": test, "tests/test_other.py": OTHER})
    project.stored()
    project.replace("shop/cart.py", "-> int", "-> float")
    project.commit()


@EVIDENCE.add("test_first_line")
def the_first_test_of_the_process_reads_a_line_number_that_a_blank_line_moved(project: Project) -> None:
    test = """
        from shop.cart import total


        def test_first_line():
            assert total.__code__.co_firstlineno == 4
    """
    project.start({"shop/cart.py": CART, "tests/test_lines.py": test})
    project.stored()
    project.replace("shop/cart.py", '"""Sums."""', '"""Sums."""\n')
    project.commit()


@EVIDENCE.add("test_small")
def the_store_knows_many_passes_and_a_module_that_no_test_imports_grows(project: Project) -> None:
    test = """
        import os


        def test_small():
            assert sum(entry.stat().st_size for entry in os.scandir("shop") if entry.is_file()) < 200
    """
    project.start({"shop/cart.py": CART, "tests/test_small.py": test})
    for _ in range(3):
        project.stored()
    project.replace("shop/cart.py", "# no tax", "# no tax" + " at all" * 20)
    project.commit()


@EVIDENCE.add("test_order")
def the_class_body_is_the_same_but_in_another_order(project: Project) -> None:
    shop = """
        class Colour:
            red = 1
            blue = 2
    """
    test = """
        import ast


        def test_order():
            tree = ast.parse(open("shop/colour.py").read())
            assert tree.body[0].body[0].targets[0].id == "red"
    """
    project.start({"shop/colour.py": shop, "tests/test_order.py": test, "tests/test_other.py": OTHER})
    project.stored()
    project.write("shop/colour.py", "class Colour:\n    blue = 2\n    red = 1\n")
    project.commit()
