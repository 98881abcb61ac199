"""Find the model that lint scores with: the project's own, else the default one, fitted once and kept."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flakehound.core.errors import same_command
from flakehound.learn.static.model import StaticModel, UnusableModel, as_text, from_text

OWN = Path(".flakehound") / "model.json"  # where `flakehound train` writes, in the project's folder


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedModel:
    """A model, and how a report calls it."""

    name: str
    model: StaticModel


def model_for(rootdir: Path) -> NamedModel:
    """The model of a project, else the default one."""
    own = rootdir / OWN
    try:
        text = own.read_text(encoding="utf-8")
    except FileNotFoundError:
        return NamedModel(name="default", model=default_model())
    except (OSError, UnicodeDecodeError) as problem:
        raise UnusableModel(str(own), str(problem), remedy=same_command(score="rules")) from problem
    try:
        return NamedModel(name=OWN.as_posix(), model=from_text(text, str(own)))
    except UnusableModel as problem:
        # Training again would mend it, where there is a store; to do without it works everywhere.
        raise UnusableModel(str(own), problem.why, remedy=same_command(score="rules")) from problem


def default_model(folder: Path | None = None) -> StaticModel:
    """The model fitted on the data we ship; from the cache where the same data was fitted before."""
    from flakehound.learn.static.table import digest_of, shipped_bytes

    packed = shipped_bytes()
    digest = digest_of(packed)
    file = _cached_file(digest, folder)
    kept = _kept(file, digest)
    if kept is not None:
        return kept
    from flakehound.learn.static.fit import fit_static_model
    from flakehound.learn.static.table import shipped_samples

    model = fit_static_model(shipped_samples(packed), digest)
    keep_text(file, as_text(model))
    return model


def is_at_hand(rootdir: Path) -> bool:
    """Whether the model of a project need not be fitted first."""
    from flakehound.learn.static.table import digest_of, shipped_bytes

    if (rootdir / OWN).exists():
        return True
    file = _cached_file(digest_of(shipped_bytes()), None)
    return file is not None and file.exists()


def _cached_file(digest: str, folder: Path | None) -> Path | None:
    place = folder or cache_folder()
    return place / f"model-{digest}.json" if place else None


def cache_folder() -> Path | None:
    """The user's folder for what can be made again; None where there is no home."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    with suppress(RuntimeError):
        return (Path(named) if os.path.isabs(named) else Path.home() / ".cache") / "flakehound"
    return None


def _kept(file: Path | None, digest: str) -> StaticModel | None:
    """A kept model; one that is damaged or of other data is as good as none."""
    try:
        found = from_text(file.read_text(encoding="utf-8"), str(file)) if file else None
    except (OSError, UnicodeDecodeError, UnusableModel):
        return None
    return found if found is not None and found.trained_on.digest == digest else None


def keep_text(file: Path | None, text: str) -> None:
    """Write a file of the cache, whole or not at all."""
    if file is None:
        return
    # A folder that we may not write to costs time and nothing else.
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(f".{os.getpid()}.new")
        new.write_text(text, encoding="utf-8")
        new.replace(file)
