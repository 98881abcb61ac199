"""Changed files that can act before pytest starts, or outside of it.

The base is run in the user's environment: installed packages, variables, services, built extensions. A change of
what makes this environment is present there, too, so that runs at the base do not show the project without it.
On the safe side: a file that is not known to be read from the tree only counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

# Read from the tree by Python or by tests, or by nobody.
_ONLY_IN_TREE = (
    *("*.py", "*.pyi", "*.pyw", "*.md", "*.rst", "*.adoc", "*.html", "*.css", "*.po", "*.ipynb", "*.txt"),
    *("*.csv", "*.tsv", "*.log", "*.png", "*.svg", "*.jpg", "*.gif"),
)
_ONLY_IN_TREE_NAMES = ("LICENSE*", "COPYING*", "AUTHORS*", "NOTICE*", "py.typed", ".gitignore")
# Data, if it is beside or below code: at the top of a project such files configure tools.
_DATA = (
    *("*.json", "*.csv", "*.tsv", "*.txt", "*.xml", "*.yaml", "*.yml", "*.toml", "*.jinja", "*.j2", "*.tmpl"),
    *("*.sql", "*.svg", "*.png", "*.jpg", "*.gif", "*.bin", "*.dat", "*.tpl", "*.mo", "*.schema", "*.npz"),
)
_EARLY_NAMES = (
    *("setup.py", "noxfile.py", "fabfile.py", "tasks.py", "dodo.py", "conf.py", "sitecustomize.py"),
    *(
        "usercustomize.py",
        "manage.py",
        "*require*",
        "*constraint*",
        "*depend*",
        "*deps*",
        "*packages*",
        "*freeze*",
    ),
    *("*.lock", "pyproject.toml", "*environment*", "*env.*", "CMakeLists.txt"),
    *("docker-compose*", "Cargo.toml", "pylock*"),
)
_EARLY_FOLDERS = (
    *(".*", "ci", "scripts", "script", "bin", "tools", "docker", "requirements", "deploy", "devops"),
    *("*.egg-info", "*.dist-info"),
)


def files_before_pytest(paths: Iterable[str]) -> list[str]:
    """Those of the changed files, by their path below the top of the repository, that can act early."""
    return [path for path in paths if _can_act_early(PurePosixPath(path))]


def _can_act_early(path: PurePosixPath) -> bool:
    if _matches(path.name, _EARLY_NAMES):
        return True
    if any(_matches(folder, _EARLY_FOLDERS) for folder in path.parts[:-1]):
        return True
    if _matches(path.name, (*_ONLY_IN_TREE, *_ONLY_IN_TREE_NAMES)):
        return False
    is_below_code = len(path.parts) > 1
    return not (is_below_code and _matches(path.name, _DATA))


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
