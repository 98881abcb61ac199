"""The files of a repository that were changed lately, or are changed and not committed."""

from __future__ import annotations

from pathlib import Path

from flakehound.engine.git.repository import Repository

RECENT_COMMITS = 20  # about a week of a small team


def recently_changed_files(repository: Repository) -> frozenset[Path]:
    """Their paths; those that git cannot tell are left out."""
    commands = (
        ("log", "--format=", "--name-only", "--no-merges", "-z", f"-{RECENT_COMMITS}"),
        ("diff", "--name-only", "-z", "HEAD"),
        ("ls-files", "--others", "--exclude-standard", "-z"),
    )
    results = (repository.git(*command) for command in commands)
    names = {name.strip() for result in results if result.succeeded for name in result.nul_separated}
    return frozenset(repository.top / name for name in names if name)
