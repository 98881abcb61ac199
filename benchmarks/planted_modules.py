"""New modules of the hunted package whose state planted tests share: a cache, a registry, a random generator."""

from __future__ import annotations

from planted_state import Library, NewModule, StateCode, StateMaker, Words

_CACHE = """\
from functools import lru_cache
import os


@lru_cache(maxsize=None)
def {name}():
    return os.environ.get("{variable}", "auto")
"""
_REGISTRY = """\
HANDLERS = {{"auto": str}}


def register(name, handler):
    HANDLERS[name] = handler
"""
_GENERATOR = """\
from random import Random

GENERATOR = Random({seed})


def start_again(seed={seed}):
    GENERATOR.seed(seed)
"""


def _new_module(library: Library, name: str, source: str) -> NewModule:
    return NewModule(path=f"{library.package}/_{name}.py", source=source)


def _cached_function(words: Words, library: Library) -> StateCode:
    name, value = words.name(), words.value()
    variable = f"{library.package}_{name}".upper()
    # The polluter empties the cache first: otherwise it would fail after its own victim.
    change = (
        f'os.environ["{variable}"] = "{value}"',
        f"{name}.cache_clear()",
        f'assert {name}() == "{value}"',
        f'del os.environ["{variable}"]',
    )
    return StateCode(
        via="a function with lru_cache",
        imports=("import os", f"from {library.package}._{name} import {name}"),
        change=change,
        clear=(f"{name}.cache_clear()",),
        is_changed=f'{name}() == "{value}"',
        is_default=f'{name}() == "auto"',
        module=_new_module(library, name, _CACHE.format(name=name, variable=variable)),
    )


def _handler_registry(words: Words, library: Library) -> StateCode:
    name, value = words.name(), words.value()
    return StateCode(
        via="a registry of the library",
        imports=(f"import {library.package}._{name} as {name}",),
        change=(f'{name}.register("{value}", repr)',),
        clear=(f'{name}.HANDLERS.pop("{value}", None)',),
        is_changed=f'"{value}" in {name}.HANDLERS',
        is_default=f'sorted({name}.HANDLERS) == ["auto"]',
        module=_new_module(library, name, _REGISTRY.format()),
    )


def _seeded_generator(words: Words, library: Library) -> StateCode:
    name, seed, other = words.name(), words.new_number(1, 50), words.new_number(51, 59)
    state = f"{name}.GENERATOR.getstate()"
    return StateCode(
        via="a random generator left with another seed",
        imports=("from random import Random", f"import {library.package}._{name} as {name}"),
        change=(f"{name}.start_again({other})",),
        clear=(f"{name}.start_again()",),
        is_changed=f"{state} == Random({other}).getstate()",
        is_default=f"{state} == Random({seed}).getstate()",
        module=_new_module(library, name, _GENERATOR.format(seed=seed)),
    )


MODULE_STATES: tuple[StateMaker, ...] = (_cached_function, _handler_registry, _seeded_generator)
