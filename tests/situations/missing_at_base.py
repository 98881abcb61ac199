"""Class 2 and 5: what a checkout of the base lacks, so that a test fails there although it passed where it was."""

from __future__ import annotations

import subprocess

from .project import Project
from .situation import Situations

MISSING_AT_BASE = Situations("5-missing-at-base")
add = MISSING_AT_BASE.add

RATES = """
    import json
    from pathlib import Path

    FOLDER = Path("{folder}")


    def rate(land):
        return json.loads((FOLDER / f"{land}.json").read_text())
"""
TEST = "from shop.rates import rate\n\n\ndef test_rate():\n    assert rate('de') == 19\n"


def rates_in(folder: str) -> dict[str, str]:
    """A module that reads a file of this folder, and its test."""
    return {"shop/rates.py": RATES.replace("{folder}", folder), "tests/test_rates.py": TEST}


def misspell(project: Project) -> None:
    """Let the module look for a file that nobody has; the same error is raised where the file is missing."""
    project.replace("shop/rates.py", "{land}.json", "{land}.jsn")
    project.commit("a bug")


@add("test_rate", base_runs=False, quick=True)
def the_data_is_in_a_submodule(project: Project) -> None:
    data = project.room / "data"
    data.mkdir()
    (data / "de.json").write_text("19")
    for words in ("init -q -b main", "add .", "-c user.name=x -c user.email=x commit -qm x"):
        subprocess.run(["git", *words.split()], cwd=data, check=True)
    project.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(data), "rates")
    project.write_all(rates_in("rates"))
    project.green()
    project.branch()
    misspell(project)


@add("test_rate", base_runs=False)
def the_data_is_in_a_repository_inside_the_repository(project: Project) -> None:
    project.write(".gitignore", "__pycache__/\n.flakehound/\nrates/\n")
    project.start(rates_in("rates") | {"rates/de.json": "19"})
    subprocess.run(["git", "init", "-q"], cwd=project.folder / "rates", check=True)
    misspell(project)


@add("test_rate", base_runs=False)
def the_data_is_untracked_and_not_ignored(project: Project) -> None:
    project.write_all(rates_in("local"))
    project.commit()
    project.write("local/de.json", "19")
    project.branch()
    project.replace("shop/rates.py", "{land}.json", "{land}.jsn")
    project.git("commit", "-qam", "a bug")


@add("test_rate", base_runs=False)
def the_data_is_in_a_folder_beside_the_repository(project: Project) -> None:
    (project.room / "rates").mkdir()
    (project.room / "rates/de.json").write_text("19")
    project.start(rates_in("../rates"))
    misspell(project)


@add("test_total", base_runs=False)
def a_module_that_may_be_missing_is_beside_the_repository(project: Project) -> None:
    cart = """
        try:
            import rounding
        except ImportError:
            rounding = None


        def total(prices):
            return round(sum(prices), 1 if rounding else 0)
    """
    test = "from shop.cart import total\n\n\ndef test_total():\n    assert total([0.25, 0.25, 1.7]) == 2.2\n"
    (project.room / "common").mkdir()
    (project.room / "common/rounding.py").write_text("")
    ini = "[pytest]\npythonpath = . ../common\ntestpaths = tests\n"
    project.start({"pytest.ini": ini, "shop/cart.py": cart, "tests/test_cart.py": test})
    project.replace("shop/cart.py", "sum(prices)", "sum(prices) + 1")
    project.commit()


@add("test_branch", base_runs=False)
def a_file_of_git_is_read(project: Project) -> None:
    head = """
        from pathlib import Path


        def branch():
            try:
                return Path(".git/HEAD").read_text().strip().rpartition("/")[2]
            except OSError:
                return "unknown"
    """
    test = "from shop.head import branch\n\n\ndef test_branch():\n    assert branch() in ('main', 'work')\n"
    project.start({"shop/head.py": head, "tests/test_head.py": test})
    project.replace("shop/head.py", ".strip()", '.strip() + "!"')
    project.commit()


@add("test_title", base_runs=False)
def the_name_of_the_folder_is_read(project: Project) -> None:
    title = "from pathlib import Path\n\n\ndef title():\n    return Path.cwd().name.title()\n"
    test = "from shop.title import title\n\n\ndef test_title():\n    assert title() in ('Project', 'Copy')\n"
    project.start({"shop/title.py": title, "tests/test_title.py": test})
    project.replace(
        "shop/title.py", "title()\n", "upper()\n".replace("upper()", "name.upper()")
    ) if False else None
    project.replace("shop/title.py", ".name.title()", ".name.upper()")
    project.commit()
