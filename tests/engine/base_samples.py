"""Projects with a base and a change, and sessions at the base."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from environments import python_with
from git_projects import GitProject

from flakehound.core.outcomes import NodeId
from flakehound.engine.git.base_session import BaseSession
from flakehound.engine.git.worktree import BaseTree, NoTree, temporary_checkout
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits

TEST = NodeId("test_calc.py::test_add")
GOOD = {
    "pytest.ini": "[pytest]\n",
    "calc.py": "def add(a, b):\n    return a + b\n",
    "test_calc.py": "from calc import add\n\ndef test_add():\n    assert add(1, 2) == 3\n",
}
BAD = {"calc.py": "def add(a, b):\n    return a - b\n"}
OpenBase = Callable[..., BaseSession]


def ids(*names: str) -> tuple[NodeId, ...]:
    return tuple(map(NodeId, names))


def in_src(root: Path) -> GitProject:
    """A project whose module is in src/ and broken by the change."""
    project = GitProject(root)
    project.commit(
        {name: text for name, text in GOOD.items() if name != "calc.py"} | {"src/calc.py": GOOD["calc.py"]}
    )
    project.write({"src/calc.py": BAD["calc.py"]})
    return project


def own_python(folder: Path) -> tuple[str, Path]:
    """An interpreter with pytest to which a test may install; and its site-packages."""
    base = python_with("pytest")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (there,) = Path(base).parent.parent.glob("lib/python*/site-packages")
    (here,) = folder.glob("lib/python*/site-packages")
    (here / "pytest.pth").write_text(f"{there}\n")
    return str(folder / "bin" / "python"), here


@contextmanager
def opener() -> Iterator[OpenBase]:
    """A function that makes sessions at the last commit of a project, or in another checkout."""
    with ExitStack() as stack:

        def _open(
            project: GitProject,
            *pytest_args: str,
            checkout: BaseTree | NoTree | None = None,
            python: str = sys.executable,
            rootdir: str = ".",
            **options,
        ) -> BaseSession:
            tree = checkout or stack.enter_context(temporary_checkout(project.repository, "HEAD"))
            assert isinstance(tree, BaseTree), tree
            folder = project.root / rootdir
            target = Target(python=python, cwd=folder, pytest_args=pytest_args)
            settings = {"limits": Limits(test_limit_s=20.0), "hash_seed": 7, **options}
            session = BaseSession(tree, target, rootdir=folder, **settings)
            stack.callback(session.close)
            return session

        yield _open
