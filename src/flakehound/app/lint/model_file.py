"""Find the model that lint scores with: the project's own, else the default model, fitted once and cached."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flakehound.core.errors import same_command
from flakehound.learn.static.model import StaticModel, UnusableModel, from_json, to_json

PROJECT_MODEL = Path(".flakehound") / "model.json"  # where `flakehound train` writes, in the project's folder


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedModel:
    """A model, and its name in reports."""

    name: str
    model: StaticModel


def model_for(rootdir: Path) -> NamedModel:
    """The model of a project, else the default one."""
    file = rootdir / PROJECT_MODEL
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return NamedModel(name="default", model=default_model())
    except (OSError, UnicodeDecodeError) as problem:
        raise UnusableModel(str(file), str(problem), remedy=same_command(score="rules")) from problem
    try:
        return NamedModel(name=PROJECT_MODEL.as_posix(), model=from_json(text, str(file)))
    except UnusableModel as problem:
        # Training again would replace it, but needs a store; scoring by rules works everywhere.
        raise UnusableModel(str(file), problem.why, remedy=same_command(score="rules")) from problem


def default_model(folder: Path | None = None) -> StaticModel:
    """The model fitted on the data that flakehound ships; from the cache if it was fitted before."""
    from flakehound.learn.static.table import digest_of, shipped_bytes

    packed = shipped_bytes()
    digest = digest_of(packed)
    file = _cached_file(digest, folder)
    cached = _cached_model(file, digest)
    if cached is not None:
        return cached
    from flakehound.learn.static.fit import fit_static_model
    from flakehound.learn.static.table import shipped_samples

    model = fit_static_model(shipped_samples(packed), digest)
    write_cache_file(file, to_json(model))
    return model


def is_model_ready(rootdir: Path) -> bool:
    """Whether the model of a project can be used without fitting the default model first."""
    from flakehound.learn.static.table import digest_of, shipped_bytes

    if (rootdir / PROJECT_MODEL).exists():
        return True
    file = _cached_file(digest_of(shipped_bytes()), None)
    return file is not None and file.exists()


def _cached_file(digest: str, folder: Path | None) -> Path | None:
    cache_folder = folder or user_cache_folder()
    return cache_folder / f"model-{digest}.json" if cache_folder else None


def user_cache_folder() -> Path | None:
    """The folder for flakehound's caches in the user's home; None if there is no home."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    with suppress(RuntimeError):
        return (Path(configured) if os.path.isabs(configured) else Path.home() / ".cache") / "flakehound"
    return None


def _cached_model(file: Path | None, digest: str) -> StaticModel | None:
    """The cached default model; None if there is none, it is damaged, or it was fitted on other data."""
    try:
        model = from_json(file.read_text(encoding="utf-8"), str(file)) if file else None
    except (OSError, UnicodeDecodeError, UnusableModel):
        return None
    return model if model is not None and model.trained_on.digest == digest else None


def write_cache_file(file: Path | None, text: str) -> None:
    """Write a file of the cache atomically."""
    if file is None:
        return
    # If the folder is not writable, the model is fitted again next time; that is no error.
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(f".{os.getpid()}.new")
        new.write_text(text, encoding="utf-8")
        new.replace(file)
