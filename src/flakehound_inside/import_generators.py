"""Random generators that were created while the suite was imported, besides the global ones.

A new interpreter seeds `random.Random()` from the operating system, but all forks of a session have one state. So
each run seeds them from its own seed. A generator that two collections left in the same state is seeded by the
project, and stays as it is.
"""

from __future__ import annotations

import gc
import hashlib
import os
import sys
from typing import TYPE_CHECKING

from flakehound_inside.generator_kinds import KINDS
from flakehound_inside.object_names import module_attributes, names_of
from flakehound_inside.random_seeds import global_generators
from flakehound_inside.registered_seeders import registered_seeders

if TYPE_CHECKING:
    from typing import Any, Collection

    from flakehound_inside.generator_kinds import PythonKind

# Has the same digest in every collection. If the engine lists it among the generators that the project seeds, it
# has compared two collections; if not, nothing is known about any generator.
COMPARED = "compared"
_MAX_GENERATORS = 1000  # seeding one takes 2 to 8 µs, in every child


class FoundGenerator:
    """One generator, and a name that it has in other processes too."""

    def __init__(self, kind: type[PythonKind], generator: Any) -> None:
        self.kind = kind
        self.generator = generator
        self.digest = hashlib.sha256(kind.state(generator)).hexdigest()[:16]
        self.name = ""  # by which collections are compared; both are set after the search
        self.seed_name = ""  # from which its seed is derived, so that no two generators draw the same numbers

    def seed(self, seed: int) -> None:
        """Seed it; a class of the project that cannot be seeded stays as it is."""
        try:
            self.kind.seed(self.generator, _seed_for(self.seed_name, seed))
        except Exception:
            return


class ImportGenerators:
    """All generators that were found after collection; searched once, before any fork."""

    def __init__(self) -> None:
        self.found = _name_generators(_find_generators())
        packages = {one.name.partition(":")[0].partition(".")[0] for one in self.found}
        # A seeder may change how its library works. mimesis, for one, gives all its objects the same numbers.
        self._seeders = [seeder for package, seeder in registered_seeders() if package not in packages]

    def digests(self) -> dict[str, str]:
        """A digest of the state of each generator by its name; empty if there is none."""
        if not self.found and not self._seeders:
            return {}
        return {COMPARED: "", **{one.name: one.digest for one in self.found}}

    def seed(self, seed: int | None, self_seeded: Collection[str]) -> None:
        """Seed all that the project does not seed itself, like a new interpreter would for None.

        Without two collections to compare, all stay as they are.
        """
        if COMPARED not in self_seeded:
            return
        if seed is None:
            seed = int.from_bytes(os.urandom(8), "big")
        for seeder in self._seeders:
            try:
                seeder(seed % 2**32)
            except Exception:  # noqa: PERF203 (one that fails must not stop the others)
                continue
        left_alone = frozenset(self_seeded)
        for one in self.found:
            if one.name not in left_alone:
                one.seed(seed)


def _seed_for(name: str, seed: int) -> int:
    return int.from_bytes(hashlib.sha256(b"%d %s" % (seed, name.encode())).digest()[:8], "big")


def _find_generators() -> list[FoundGenerator]:
    kinds = {one: kind for kind in reversed(KINDS) for one in kind.types()}
    objects = gc.get_objects()
    candidates = [one for one in objects if type(one) in kinds] + _untracked(kinds)
    known = _ids_of_others(objects, kinds)
    found: list[FoundGenerator] = []
    for kind in KINDS:
        for one in candidates:
            if kinds[type(one)] is not kind or len(found) == _MAX_GENERATORS:
                continue
            try:
                ids = {id(one), *(id(part) for part in kind.parts(one))}
                if not ids & known:
                    found.append(FoundGenerator(kind, one))
            except Exception:  # a subclass without a state that can be read
                continue
            known |= ids
    return found


def _ids_of_others(objects: list[Any], kinds: dict[type, type[PythonKind]]) -> set[int]:
    """The ids of generators that are seeded elsewhere, or that each process replaces by a new one."""
    others = global_generators()
    names_of_files = getattr(sys.modules.get("tempfile"), "_RandomNameSequence", None)
    if names_of_files is not None:
        others += [getattr(one, "_rng", None) for one in objects if type(one) is names_of_files]
    ids = {id(one) for one in others}
    for one in others:
        if type(one) in kinds:
            ids.update(id(part) for part in kinds[type(one)].parts(one))
    return ids


def _untracked(kinds: dict[type, type[PythonKind]]) -> list[Any]:
    """Generators at module level that the garbage collector does not know; those of torch."""
    if "torch" not in sys.modules:
        return []
    return [
        one
        for _name, attributes in module_attributes()
        for one in list(attributes.values())
        if type(one) in kinds and not gc.is_tracked(one)
    ]


def _name_generators(found: list[FoundGenerator]) -> list[FoundGenerator]:
    places = {id(part): place for place, one in enumerate(found) for part in one.kind.parts(one.generator)}
    places.update((id(one.generator), place) for place, one in enumerate(found))
    names = names_of(places) if found else {}
    unnamed = 0
    for place, one in enumerate(found):
        one.name = one.seed_name = names.get(place, "")
        if not one.name:
            # It can be recognised only by its state. That two processes have the same one is no coincidence.
            one.name, one.seed_name = "unnamed " + one.digest, "unnamed %d" % unnamed
            unnamed += 1
    return found
