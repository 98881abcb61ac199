"""Class 2: source text as data, other threads, and state that changed code writes in another test."""

from __future__ import annotations

from .project import Project
from .situation import Situations

UNSEEN_TEXT = Situations("2-unseen-text")

CART = """
    import os


    def total(prices):
        # the sum
        return sum(prices)


    def save(prices, path):
        with open(path, "w") as file:
            file.write(str(total(prices)))
"""


@UNSEEN_TEXT.add("test_source")
def a_comment_inside_a_function_is_read_with_inspect(project: Project) -> None:
    test = """
        import inspect

        from shop.cart import total


        def test_source():
            assert "# the sum" in inspect.getsource(total)
    """
    project.start({"shop/cart.py": CART, "tests/test_source.py": test}, stored=True)
    project.replace("shop/cart.py", "    # the sum\n", "")
    project.commit()


@UNSEEN_TEXT.add("test_style")
def a_linter_that_is_started_finds_a_long_line(project: Project) -> None:
    lint = """
        import pathlib
        import sys

        sys.exit(any(len(line) > 60 for file in pathlib.Path(sys.argv[1]).glob("*.py") for line in file.open()))
    """
    test = """
        import subprocess
        import sys


        def test_style():
            assert subprocess.run([sys.executable, "lint.py", "shop"]).returncode == 0
    """
    project.start({"shop/cart.py": CART, "lint.py": lint, "tests/test_style.py": test}, stored=True)
    project.replace("shop/cart.py", "# the sum", "# the sum of all prices that are in the list, without any tax")
    project.commit()


@UNSEEN_TEXT.add("test_endings")
def the_line_endings_of_a_module_change(project: Project) -> None:
    test = """
        from pathlib import Path


        def test_endings():
            assert b"\\r" not in Path("shop/cart.py").read_bytes()
    """
    project.start({"shop/cart.py": CART, "tests/test_endings.py": test}, stored=True)
    project.replace("shop/cart.py", "\n", "\r\n")
    project.commit()


@UNSEEN_TEXT.add("test_endings")
def the_attributes_of_git_change_the_line_endings_of_a_checkout(project: Project) -> None:
    test = """
        from pathlib import Path


        def test_endings():
            assert b"\\r" not in Path("data/rows.csv").read_bytes()
    """
    project.start({"data/rows.csv": "a,b\n1,2\n", "tests/test_endings.py": test}, stored=True)
    project.write(".gitattributes", "*.csv text eol=crlf\n")
    project.commit()
    (project.folder / "data/rows.csv").unlink()
    project.git("checkout", "data/rows.csv")


@UNSEEN_TEXT.add("test_pure")
def a_code_object_has_one_name_more(project: Project) -> None:
    test = """
        from shop.cart import total


        def test_pure():
            assert total.__code__.co_names == ("sum",)
    """
    project.start({"shop/cart.py": CART, "tests/test_pure.py": test}, stored=True)
    project.replace("shop/cart.py", "return sum(prices)", "return sum(list(prices))")
    project.commit()


@UNSEEN_TEXT.add("test_worker")
def the_changed_function_runs_in_a_raw_thread(project: Project) -> None:
    test = """
        import _thread
        import time

        from shop.cart import save


        def test_worker(tmp_path):
            _thread.start_new_thread(save, ([1, 2], tmp_path / "sum.txt"))
            deadline = time.monotonic() + 5
            while not (tmp_path / "sum.txt").exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.05)
            assert (tmp_path / "sum.txt").read_text() == "3"
    """
    project.start({"shop/cart.py": CART, "tests/test_worker.py": test}, stored=True)
    project.replace("shop/cart.py", "return sum(prices)", "return sum(prices) + 1")
    project.commit()


@UNSEEN_TEXT.add("test_b_reads", base_runs=False)
def an_ignored_file_is_written_by_changed_code_in_another_test(project: Project) -> None:
    writes = "from shop.cart import save\n\n\ndef test_a_writes():\n    save([1, 2], 'sum.log')\n"
    reads = "def test_b_reads():\n    assert open('sum.log').read() == '3'\n"
    project.start({"shop/cart.py": CART, "tests/test_a.py": writes, "tests/test_b.py": reads}, stored=True)
    project.replace("shop/cart.py", "str(total(prices))", "repr(prices)")
    project.commit()


@UNSEEN_TEXT.add("test_b_reads", base_runs=False)
def a_database_is_filled_by_changed_code_in_another_test(project: Project) -> None:
    base = """
        import sqlite3

        TABLE = "prices"


        def fill(path="shop.db"):
            with sqlite3.connect(path) as base:
                base.execute(f"drop table if exists {TABLE}")
                base.execute(f"create table {TABLE} (price integer)")
                base.execute(f"insert into {TABLE} values (?)", (3,))
    """
    reads = """
        import sqlite3


        def test_b_reads():
            assert sqlite3.connect("shop.db").execute("select sum(price) from prices").fetchone() == (3,)
    """
    writes = "from shop.base import fill\n\n\ndef test_a_writes():\n    fill()\n"
    project.start({"shop/base.py": base, "tests/test_a.py": writes, "tests/test_b.py": reads}, stored=True)
    project.replace("shop/base.py", "(3,)", "(4,)")
    project.commit()


@UNSEEN_TEXT.add("test_region", base_runs=False)
def a_script_that_sets_the_environment_changes(project: Project) -> None:
    test = """
        import os


        def test_region():
            assert os.environ.get("SHOP_REGION", "eu") == "eu"
    """
    project.start({"env.sh": "export SHOP_REGION=eu\n", "tests/test_region.py": test}, stored=True)
    project.write("env.sh", "export SHOP_REGION=us\n")
    project.commit()
    project.env["SHOP_REGION"] = "us"  # whoever starts pytest has read the script before


@UNSEEN_TEXT.add("test_version", base_runs=False)
def a_lock_file_changes_and_the_new_version_is_installed(project: Project) -> None:
    test = """
        import vendored


        def test_version():
            assert vendored.parse("1") == 1
    """
    site = project.room / "site"
    site.mkdir()
    (site / "vendored.py").write_text("def parse(text):\n    return int(text)\n")
    project.env["PYTHONPATH"] = str(site)
    project.start({"requirements.lock": "vendored==1\n", "tests/test_version.py": test}, stored=True)
    project.write("requirements.lock", "vendored==2\n")
    project.commit()
    (site / "vendored.py").write_text("def parse(text):\n    return float(text) + 0.5\n")


@UNSEEN_TEXT.add("test_home", base_runs=False)
def changed_code_leaves_state_in_the_home_folder(project: Project) -> None:
    settings = """
        import json
        from pathlib import Path

        FILE = Path.home() / ".shop.json"


        def save(theme):
            FILE.write_text(json.dumps({"theme": theme}))


        def load():
            return json.loads(FILE.read_text())["theme"] if FILE.exists() else "light"
    """
    save = "from shop import settings\n\n\ndef test_a_save():\n    settings.save('light')\n"
    load = "from shop import settings\n\n\ndef test_home():\n    assert settings.load() == 'light'\n"
    project.start({"shop/settings.py": settings, "tests/test_a.py": save, "tests/test_b.py": load}, stored=True)
    project.replace("shop/settings.py", '{"theme": theme}', '{"theme": "dark"}')
    project.commit()


@UNSEEN_TEXT.add("test_fresh", base_runs=False)
def changed_code_leaves_a_file_in_the_temporary_folder(project: Project) -> None:
    lock = """
        import os
        import tempfile

        PATH = os.path.join(tempfile.gettempdir(), "shop.lock")


        def work():
            open(PATH, "w").close()
            os.unlink(PATH)
    """
    work = "from shop import lock\n\n\ndef test_a_work():\n    lock.work()\n"
    fresh = "import os\nfrom shop import lock\n\n\ndef test_fresh():\n    assert not os.path.exists(lock.PATH)\n"
    project.start({"shop/lock.py": lock, "tests/test_a.py": work, "tests/test_b.py": fresh}, stored=True)
    project.replace("shop/lock.py", "    os.unlink(PATH)\n", "")
    project.commit()
