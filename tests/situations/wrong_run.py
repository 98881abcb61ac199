"""Class 3: the change is reached only in the run that fails, not in the reruns that pass."""

from __future__ import annotations

from .project import Project
from .situation import Situations

WRONG_RUN = Situations("3-wrong-run")
OTHER = "def test_other():\n    assert True\n"


@WRONG_RUN.add("test_price", sometimes=True, quick=True)
def a_broken_fallback_is_reached_when_the_primary_source_is_away(project: Project) -> None:
    fallback = "def price():\n    return 3\n"
    test = """
        import random

        from shop import fallback


        def test_price():
            price = 3 if random.random() < 0.5 else fallback.price()
            assert price == 3
    """
    project.start({"shop/fallback.py": fallback, "tests/test_price.py": test, "tests/test_a.py": OTHER})
    project.replace("shop/fallback.py", "3", "4")
    project.commit()


@WRONG_RUN.add("test_price", sometimes=True)
def a_broken_module_is_imported_only_in_the_failing_run(project: Project) -> None:
    test = """
        from random import SystemRandom


        def test_price():
            if SystemRandom().random() < 0.5:
                from shop.offline import price

                assert price() == 3
    """
    project.start({"shop/offline.py": "def price():\n    return 3\n", "tests/test_price.py": test})
    project.replace("shop/offline.py", "return 3", "return None")
    project.commit()


@WRONG_RUN.add("test_lookup", base_runs=False)
def a_cold_cache_is_filled_by_broken_code(project: Project) -> None:
    cache = """
        from pathlib import Path

        FILE = Path.home() / "cache.txt"


        def compute():
            FILE.write_text("3")
            return 3


        def lookup():
            return int(FILE.read_text()) if FILE.exists() else compute()
    """
    test = "from shop.cache import lookup\n\n\ndef test_lookup():\n    assert lookup() == 3\n"
    project.start({"shop/cache.py": cache, "tests/test_lookup.py": test})
    project.replace("shop/cache.py", "return 3", 'return "3"')
    project.commit()


@WRONG_RUN.add("test_rows", base_runs=False)
def the_first_migration_of_an_ignored_database_is_broken(project: Project) -> None:
    base = """
        import sqlite3


        def migrated(path="shop.db"):
            base = sqlite3.connect(path)
            if not base.execute("select 1 from sqlite_master where name = 'rows'").fetchone():
                base.execute("create table rows (id integer)")
                base.execute("insert into rows values (1)")
                base.commit()
            return base
    """
    test = """
        from shop.base import migrated


        def test_rows():
            assert migrated().execute("select count(*) from rows").fetchone() == (1,)
    """
    project.start({"shop/base.py": base, "tests/test_rows.py": test})
    old = "        base.commit()\n"
    project.replace("shop/base.py", old, old + '        base.execute("select version from rows")\n')
    project.commit()


@WRONG_RUN.add("test_answer", sometimes=True)
def one_of_two_worker_scripts_is_broken(project: Project) -> None:
    test = """
        import subprocess
        import sys
        from random import SystemRandom


        def test_answer():
            script = SystemRandom().choice(["workers/one.py", "workers/two.py"])
            assert subprocess.run([sys.executable, script], capture_output=True, text=True).stdout == "3\\n"
    """
    project.start({"workers/one.py": "print(3)\n", "workers/two.py": "print(3)\n", "tests/test_w.py": test})
    project.write("workers/two.py", "print(4)\n")
    project.commit()


@WRONG_RUN.add("test_fetch")
def the_first_attempt_in_a_process_is_broken(project: Project) -> None:
    client = """
        _session = None


        def fetch():
            global _session
            if _session is None:
                _session = "open"
                return connect()
            return 3


        def connect():
            return 3
    """
    test = "from shop.client import fetch\n\n\ndef test_fetch():\n    assert fetch() == 3\n"
    project.start({"shop/client.py": client, "tests/test_client.py": test, "tests/test_a.py": OTHER})
    project.replace("shop/client.py", "def connect():\n    return 3", "def connect():\n    return None")
    project.commit()


@WRONG_RUN.add("test_export", base_runs=False)
def a_folder_is_missing_until_the_failing_run_has_made_it(project: Project) -> None:
    export = """
        import os

        FOLDER = os.path.join(os.path.expanduser("~"), "exports")


        def export():
            os.makedirs(FOLDER, exist_ok=True)
            with open(os.path.join(FOLDER, "a.txt"), "w") as file:
                file.write("3")
            return FOLDER
    """
    broken = """
        import os

        FOLDER = os.path.join(os.path.expanduser("~"), "exports")


        def export():
            try:
                with open(os.path.join(FOLDER, "a.txt"), "w") as file:
                    file.write("3")
            finally:
                os.makedirs(FOLDER, exist_ok=True)
            return FOLDER
    """
    test = "from shop.export import export\n\n\ndef test_export():\n    assert export()\n"
    project.start({"shop/export.py": export, "tests/test_export.py": test})
    project.write("shop/export.py", broken)
    project.commit()


@WRONG_RUN.add("test_retry", sometimes=True)
def the_handler_of_a_rare_error_is_broken(project: Project) -> None:
    test = """
        import os

        from shop.handler import handled


        def test_retry():
            try:
                if os.urandom(1)[0] < 100:
                    raise TimeoutError
                answer = "ok"
            except TimeoutError as error:
                answer = handled(error)
            assert answer == "ok"
    """
    handler = "def handled(error):\n    return 'ok'\n"
    project.start({"shop/handler.py": handler, "tests/test_retry.py": test, "tests/test_a.py": OTHER})
    project.replace("shop/handler.py", "'ok'", "str(error)")
    project.commit()


@WRONG_RUN.add("test_template", sometimes=True)
def one_of_the_templates_that_are_chosen_at_random_is_broken(project: Project) -> None:
    test = """
        import random
        from pathlib import Path


        def test_template():
            name = random.SystemRandom().choice(["a", "b"])
            assert "{name}" in Path(f"templates/{name}.txt").read_text()
    """
    files = {"templates/a.txt": "Dear {name}\n", "templates/b.txt": "Hello {name}\n"}
    project.start({**files, "tests/test_template.py": test})
    project.write("templates/b.txt", "Hello {nam}\n")
    project.commit()
