"""Changes of data, settings, resources, file names and started programs: triage must not clear what they break.

As `mutants.py`, on other projects, and without changes of the code that the tests import: a mutant edits, deletes,
renames, copies or empties a file that is not a module, changes the settings of pytest, renames a module, or breaks
a program that tests start.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mutants import MutantCheck, Release, Repository, Tally, check_projects
from source_mutants import Mutant

RELEASES = (
    # Its command asks for the version that is installed; the modules are those of the sdist all the same.
    Release(
        name="jsonschema",
        version="4.26.0",
        requirements=("jsonschema==4.26.0", "jsonpath-ng"),
        tests="jsonschema/tests",
    ),
    # The other files have a class that a later pytest warns of, which the project makes an error.
    Release(name="markdown", version="3.11.3", requirements=("pyyaml",), tests="tests/test_legacy.py"),
    Release(name="tomlkit", version="0.15.2", requirements=("pyyaml",)),
    # The other files have tests that measure time.
    Release(name="mistune", version="3.4.0", source="src", tests="tests/test_directives.py"),
    Release(name="sqlparse", version="0.6.1"),
)
_IGNORED_PARTS = (".egg-info", "docs/", ".git", "PKG-INFO", "LICENSE", "CHANGE", "AUTHORS")
_PROGRAMS = ("__main__.py", "cli.py", "script.py")  # names of modules that are started as programs
_SETTINGS = ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticMutant:
    """A change of one file that is made by a function of its path."""

    kind: str
    path: str
    make: Callable[[Path], object]

    def as_mutant(self) -> Mutant:
        """What the tally of the other benchmark takes."""
        return Mutant(path=self.path, kind=self.kind, start=0, end=0, text=b"")


# ---- the kinds


def cut_in_half(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2] + b"\n")


def change_digit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    digits = [offset for offset, byte in enumerate(content) if 48 <= byte <= 57]
    if digits:
        offset = digits[len(digits) // 2]
        content[offset] = 48 + (content[offset] - 47) % 10
    file.write_bytes(bytes(content))


def swap_case_of_a_word(file: Path) -> None:
    words = file.read_bytes().split(b" ")
    middle = len(words) // 2
    words[middle] = words[middle].swapcase()
    file.write_bytes(b" ".join(words))


def change_line_endings(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content.replace(b"\r\n", b"\n") if b"\r\n" in content else content.replace(b"\n", b"\r\n"))


def rename(file: Path) -> None:
    file.rename(file.with_name(f"{file.stem}_old{file.suffix}"))


def rename_suffix(file: Path) -> None:
    file.rename(file.with_name(f"{file.name}.bak"))


def copy_beside(file: Path) -> None:
    shutil.copy(file, file.with_name(f"{file.stem}_copy{file.suffix}"))


def break_program(file: Path) -> None:
    file.write_text("raise SystemExit(9)\n")


def make_settings_strict(file: Path) -> None:
    folder = file.parent
    (folder / "pytest.ini").write_text("[pytest]\nxfail_strict = true\nfilterwarnings = error\n")


def make_conftest_harsh(file: Path) -> None:
    text = "import warnings\n\n\ndef pytest_runtest_setup(item):\n    warnings.simplefilter('error')\n"
    (file.parent / "conftest.py").write_text(text)


_DATA_KINDS: dict[str, Callable[[Path], object]] = {
    "data: half": cut_in_half,
    "data: digit": change_digit,
    "data: word": swap_case_of_a_word,
    "data: line endings": change_line_endings,
    "data: empty": lambda file: file.write_bytes(b""),
    "data: deleted": Path.unlink,
    "name: renamed": rename,
    "name: other suffix": rename_suffix,
    "name: copy beside": copy_beside,
}
_SETTINGS_KINDS: dict[str, Callable[[Path], object]] = {
    "settings: strict": make_settings_strict,
    "settings: deleted": Path.unlink,
    "settings: conftest": make_conftest_harsh,
}


def mutants_of(folder: Path) -> Iterator[SemanticMutant]:
    """All mutants of a project."""
    # Of the commit only: the triage has files of its own in the folder.
    for path in _git(folder, "ls-files", "-z").split("\0")[:-1]:
        file = folder / path
        if not file.is_file() or any(part in path for part in _IGNORED_PARTS):
            continue
        kinds: dict[str, Callable[[Path], object]] = {}
        if path in _SETTINGS:
            kinds = _SETTINGS_KINDS
        elif file.suffix == ".py":
            is_module = "test" not in path and "/" in path
            kinds = {"name: module": rename} if is_module else {}
            kinds |= {"program": break_program} if file.name in _PROGRAMS else {}
        elif "/" in path:
            kinds = _DATA_KINDS
        yield from (SemanticMutant(kind=kind, path=path, make=make) for kind, make in kinds.items())


def shuffled(folder: Path, seed: int) -> list[SemanticMutant]:
    """All mutants in random order, the kinds in turn."""
    by_kind: dict[str, list[SemanticMutant]] = {}
    for mutant in mutants_of(folder):
        by_kind.setdefault(mutant.kind, []).append(mutant)
    rng = random.Random(seed)
    for kind in sorted(by_kind):
        rng.shuffle(by_kind[kind])
    turns = max(map(len, by_kind.values()))
    return [by_kind[kind][turn] for turn in range(turns) for kind in sorted(by_kind) if turn < len(by_kind[kind])]


# ---- the check


class SemanticCheck(MutantCheck[SemanticMutant]):
    """Makes the change of a mutant, and takes it back with git."""

    def _make_and_judge(self, repository: Repository, mutant: SemanticMutant) -> None:
        try:
            mutant.make(repository.folder / mutant.path)
            if _is_changed(repository.folder):
                self._judge(repository, mutant.as_mutant())
        finally:
            _git(repository.folder, "checkout", "-q", "--", ".")
            _git(repository.folder, "clean", "-fdqx", "-e", ".flakehound")


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def _is_changed(folder: Path) -> bool:
    return bool(_git(folder, "status", "--porcelain").strip())


def check_semantic_mutants(repository: Repository, wanted: int, seed: int, jobs: int) -> Tally:
    """Judge mutants of one project until `wanted` of them make a test fail."""
    return SemanticCheck(repository, wanted, jobs).run(shuffled(repository.folder, seed), jobs)


if __name__ == "__main__":
    check_projects(__doc__, RELEASES, check_semantic_mutants)
