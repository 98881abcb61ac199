"""At the base, tests import the base's own code, however the project is installed; else the runs prove nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from base_samples import BAD, GOOD, TEST, OpenBase, ids, in_src, opener, own_python
from git_projects import GitProject

from flakehound.core.outcomes import Outcome

pytestmark = pytest.mark.usefixtures("own_git")
WITHOUT_MODULE = {name: text for name, text in GOOD.items() if name != "calc.py"}


@pytest.fixture
def open_base() -> Iterator[OpenBase]:
    with opener() as make:
        yield make


def assert_passes_at_base(session, root, test=TEST) -> None:
    assert session.open([root / test.partition("::")[0]]) == ""
    assert [record.last for record in session.run_in_forks((test,), 1, seed=0)] == [Outcome.PASSED]
    told = session.run_recorded((test,), seed=0)
    assert (told.problem, told.outcomes) == ("", (Outcome.PASSED,))


@pytest.mark.parametrize("entry", ["src", "{root}/src", ".:src"])
def test_pythonpath_may_be_relative(tmp_path, monkeypatch, open_base, entry):
    project = in_src(tmp_path / "project")
    monkeypatch.setenv("PYTHONPATH", entry.format(root=project.root))

    assert_passes_at_base(open_base(project), project.root)


def test_the_pythonpath_setting_of_pytest_leads_to_the_base(tmp_path, open_base):
    project = in_src(tmp_path / "project")
    project.git("checkout", "--quiet", ".")
    project.commit({"pytest.ini": "[pytest]\npythonpath = src\n"})
    project.write({"src/calc.py": BAD["calc.py"]})

    assert_passes_at_base(open_base(project), project.root)


def test_a_conftest_that_extends_the_path_relative_to_itself_leads_to_the_base(tmp_path, open_base):
    project = in_src(tmp_path / "project")
    project.git("checkout", "--quiet", ".")
    project.commit({"conftest.py": "import os, sys\nsys.path.insert(0, os.path.dirname(__file__) + '/src')\n"})
    project.write({"src/calc.py": BAD["calc.py"]})

    assert_passes_at_base(open_base(project), project.root)


def test_a_conftest_that_names_the_users_tree_proves_nothing(tmp_path, open_base):
    project = in_src(tmp_path / "project")
    project.git("checkout", "--quiet", ".")
    project.commit({"conftest.py": f"import sys\nsys.path.insert(0, {str(project.root / 'src')!r})\n"})
    project.write({"src/calc.py": BAD["calc.py"]})
    session = open_base(project)

    assert "search the changed tree for modules" in session.open([project.root / "test_calc.py"])
    assert session.run_in_forks((TEST,), 1, seed=0) == []
    assert "points to the changed tree: calc" in session.run_recorded((TEST,), seed=0).problem
    unrecorded = session.run_in_new_interpreters((TEST,), 1, 0, recorded=False)
    assert "search the changed tree for modules" in unrecorded.problem


def test_plugins_of_the_project_come_from_the_base(tmp_path, open_base):
    project = GitProject(tmp_path / "project")
    plugin = "import pytest\n@pytest.fixture\ndef word(): return {!r}\n"
    project.commit(
        {
            "pytest.ini": "[pytest]\n",
            "conftest.py": "pytest_plugins = ['helpers.plugin']\n",
            "helpers/plugin.py": plugin.format("base"),
            "test_calc.py": "def test_add(word): assert word == 'base'\n",
        }
    )
    project.write({"helpers/plugin.py": plugin.format("changed")})

    assert_passes_at_base(open_base(project), project.root)


# -- editable installs --


def test_a_path_entry_of_an_editable_install_leads_to_the_base(tmp_path, open_base):
    project = in_src(tmp_path / "project")
    python, packages = own_python(tmp_path / "env")
    (packages / "_calc.pth").write_text(f"{project.root / 'src'}\n")

    assert_passes_at_base(open_base(project, python=python), project.root)


def test_what_only_the_change_has_is_not_found_at_the_base(tmp_path, open_base):
    project = in_src(tmp_path / "project")
    project.git("checkout", "--quiet", ".")
    project.commit(
        {
            "test_calc.py": "from importlib.util import find_spec\n"
            "def test_add(): assert find_spec('calc') and find_spec('added') is None\n"
        }
    )
    project.write({"src/added.py": ""})
    python, packages = own_python(tmp_path / "env")
    (packages / "_calc.pth").write_text(f"{project.root / 'src'}\n")

    assert_passes_at_base(open_base(project, python=python), project.root)


SETUPTOOLS_FINDER = """
import sys
from importlib.util import spec_from_file_location
from pathlib import Path
MAPPING = {mapping!r}
NAMESPACES = {{}}
class _EditableFinder:
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname in MAPPING:
            for file in (Path(MAPPING[fullname], "__init__.py"), Path(MAPPING[fullname] + ".py")):
                if file.exists():
                    return spec_from_file_location(fullname, file)
sys.meta_path.append(_EditableFinder)
"""


def test_a_finder_of_setuptools_leads_to_the_base_even_if_the_folder_has_another_name(tmp_path, open_base):
    project = GitProject(tmp_path / "project")
    project.commit({**WITHOUT_MODULE, "lib/__init__.py": GOOD["calc.py"]})
    project.write({"lib/__init__.py": BAD["calc.py"]})
    python, packages = own_python(tmp_path / "env")
    finder = SETUPTOOLS_FINDER.format(mapping={"calc": str(project.root / "lib")})
    (packages / "__editable___calc_finder.py").write_text(finder)
    (packages / "__editable__.calc.pth").write_text("import __editable___calc_finder\n")

    assert_passes_at_base(open_base(project, python=python), project.root)


EDITABLES = """
import sys
from importlib.util import spec_from_file_location
class RedirectingFinder:
    _redirections = {}
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname in cls._redirections:
            return spec_from_file_location(fullname, cls._redirections[fullname])
sys.meta_path.append(RedirectingFinder)
"""


def test_a_finder_of_hatch_or_pdm_leads_to_the_base(tmp_path, open_base):
    project = GitProject(tmp_path / "project")
    project.commit({**WITHOUT_MODULE, "src/calc/__init__.py": GOOD["calc.py"]})
    project.write({"src/calc/__init__.py": BAD["calc.py"]})
    python, packages = own_python(tmp_path / "env")
    (packages / "editables").mkdir()
    (packages / "editables" / "__init__.py").touch()
    (packages / "editables" / "redirector.py").write_text(EDITABLES)
    place = str(project.root / "src" / "calc" / "__init__.py")
    mapping = f"from editables.redirector import RedirectingFinder as F; F._redirections['calc'] = {place!r}"
    (packages / "calc.pth").write_text(f"import sys; exec({mapping!r})\n")

    assert_passes_at_base(open_base(project, python=python), project.root)


def test_a_link_to_the_users_tree_proves_nothing(tmp_path, open_base):
    project = in_src(tmp_path / "project")
    python, packages = own_python(tmp_path / "env")
    (packages / "calc.py").symlink_to(project.root / "src" / "calc.py")

    assert open_base(project, python=python).run_recorded((TEST,), seed=0).problem


@pytest.mark.parametrize("finder", ["MesonpyMetaFinder", "ScikitBuildRedirectingFinder"])
def test_a_finder_that_builds_the_users_tree_proves_nothing_and_is_never_asked(tmp_path, open_base, finder):
    project = in_src(tmp_path / "project")
    python, packages = own_python(tmp_path / "env")
    (packages / "_calc_editable_loader.py").write_text(
        "import sys\n"
        f"class {finder}:\n"
        "    def __init__(self, build): self._build_path = build\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'calc': open(self._build_path + '/built', 'w')\n"
        f"sys.meta_path.insert(0, {finder}({str(project.root / 'src')!r}))\n"
    )
    (packages / "calc-editable.pth").write_text("import _calc_editable_loader\n")
    session = open_base(project, python=python)

    assert "builds the changed tree" in session.open([project.root / "test_calc.py"])
    assert "builds the changed tree" in session.run_recorded((TEST,), seed=0).problem
    assert not (project.root / "src" / "built").exists()


def test_an_installed_copy_proves_nothing(tmp_path, open_base):
    project = in_src(tmp_path / "project")
    python, packages = own_python(tmp_path / "env")
    (packages / "calc.py").write_text(BAD["calc.py"])

    told = open_base(project, python=python).run_recorded((TEST,), seed=0)

    assert "installed copy of calc" in told.problem
    assert told.validity.problem == told.problem


def test_a_namespace_package_comes_from_the_base(tmp_path, open_base):
    project = GitProject(tmp_path / "project")
    test = "from space.calc import add\ndef test_add(): assert add(1, 2) == 3\n"
    project.commit({**WITHOUT_MODULE, "test_calc.py": test, "src/space/calc.py": GOOD["calc.py"]})
    project.write({"src/space/calc.py": BAD["calc.py"]})
    python, packages = own_python(tmp_path / "env")
    (packages / "_space.pth").write_text(f"{project.root / 'src'}\n")

    assert_passes_at_base(open_base(project, python=python), project.root)


# -- the environment --


def test_variables_that_name_places_of_the_project_lead_to_the_base(tmp_path, monkeypatch, open_base):
    project = GitProject(tmp_path / "project")
    test = (
        "import os\n"
        "def test_add():\n"
        "    assert open(os.environ['DATA']).read() == 'base'\n"
        "    assert os.environ['PWD'] == os.getcwd()\n"
        "    assert os.environ['PATH'].startswith(os.getcwd() + '/scripts:')\n"
    )
    project.commit({"pytest.ini": "", "test_calc.py": test, "data.txt": "base", "scripts/run": ""})
    project.write({"data.txt": "changed"})
    monkeypatch.setenv("DATA", str(project.root / "data.txt"))
    monkeypatch.setenv("PWD", str(project.root))
    monkeypatch.setenv("PATH", f"{project.root}/scripts:{os.environ['PATH']}")
    monkeypatch.setenv("PYTEST_ADDOPTS", f"-c {project.root}/pytest.ini")

    assert_passes_at_base(open_base(project), project.root)


def test_a_subprocess_of_a_test_imports_from_the_base(tmp_path, open_base):
    project = in_src(tmp_path / "project")
    project.git("checkout", "--quiet", ".")
    command = "[sys.executable, '-c', 'import calc; assert calc.add(1, 2) == 3']"
    project.commit(
        {"test_calc.py": f"import subprocess, sys\ndef test_add(): subprocess.run({command}, check=True)\n"}
    )
    project.write({"src/calc.py": BAD["calc.py"]})
    python, packages = own_python(tmp_path / "env")
    (packages / "_calc.pth").write_text(f"{project.root / 'src'}\n")
    session = open_base(project, python=python)

    assert_passes_at_base(session, project.root)
    assert any("started a process" in doubt for doubt in session.run_recorded(ids(TEST), seed=0).validity.doubts)
