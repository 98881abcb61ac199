"""Which random generators are found after collection, under which names, and what seeding does to them."""

from __future__ import annotations

import gc
import importlib.metadata
import random
import sys
import tempfile
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

import pytest

from flakehound_inside import import_generators
from flakehound_inside.generator_kinds import KINDS
from flakehound_inside.import_generators import COMPARED, ImportGenerators
from flakehound_inside.object_names import names_of
from flakehound_inside.registered_seeders import registered_seeders


class Shop(ModuleType):
    """A module of the project, with a file outside of all libraries."""


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    module = Shop("shop")
    module.__file__ = "/project/shop.py"
    monkeypatch.setitem(sys.modules, "shop", module)
    yield module
    module.__dict__.clear()
    gc.collect()


def found_names() -> set[str]:
    return {one.name for one in ImportGenerators().found if one.name.startswith("shop:")}


def seeded_numbers(draw, *seeds: int) -> list[object]:
    numbers = []
    for seed in seeds:
        ImportGenerators().seed(seed, [COMPARED])
        numbers.append(draw())
    return numbers


def test_generators_are_found_where_a_module_can_keep_them(shop):
    class Client:
        level = random.Random()

        def __init__(self) -> None:
            self.own = random.Random()

    def closure():
        hidden = random.Random()
        return lambda: hidden.random()

    shop.plain, shop.Client, shop.client = random.Random(), Client, Client()
    shop.listed, shop.method, shop.closure = [random.Random()], random.Random().random, closure()

    names = found_names()

    assert {"shop:plain", "shop:Client.level"} <= names
    assert {name.partition(":")[2].partition(".")[0] for name in names} == {
        "plain",
        "Client",
        "client",
        "listed",
        "method",
        "closure",
    }


def test_generators_of_the_system_and_of_temporary_files_are_left_alone(shop):
    tempfile.mktemp()
    shop.system, shop.names, shop.everyones = random.SystemRandom(), tempfile._RandomNameSequence(), random._inst
    next(shop.names)

    assert found_names() == set()


def test_one_object_under_two_names_is_seeded_once_and_two_objects_draw_different_numbers(shop):
    shop.first, shop.other = random.Random(), random.Random()
    shop.same = shop.first

    names = found_names()
    ImportGenerators().seed(1, [COMPARED])

    assert names == {"shop:first", "shop:other"}
    assert shop.first.random() != shop.other.random()


def test_generators_under_keys_without_a_lasting_text_have_different_names(shop):
    shop.by_object = {object(): random.Random(), object(): random.Random(), 3: random.Random()}

    assert found_names() == {"shop:by_object.key0", "shop:by_object.key1", "shop:by_object.3"}


def test_a_generator_that_no_name_leads_to_is_recognised_by_its_state():
    hidden = (lambda: (yield random.Random(987654321)))()
    kept = next(hidden)
    again = ImportGenerators().digests()

    digest = next(one.digest for one in ImportGenerators().found if one.generator is kept)

    assert again["unnamed " + digest] == digest


def test_a_generator_that_cannot_be_read_or_seeded_disturbs_nothing(shop):
    class Unreadable(random.Random):
        def getstate(self):
            raise NotImplementedError

    class Unseedable(random.Random):
        def seed(self, *_args, **_options):
            raise RuntimeError("only once")

        def __init__(self) -> None:
            self.gauss_next = None

    shop.unreadable, shop.unseedable, shop.usual = Unreadable(), Unseedable(), random.Random()

    first, again = seeded_numbers(lambda: shop.usual.random(), 1, 1)

    assert first == again
    assert found_names() == {"shop:unseedable", "shop:usual"}


def test_without_any_generator_nothing_is_reported(monkeypatch):
    monkeypatch.setattr(import_generators, "_find_generators", list)
    monkeypatch.setattr(import_generators, "registered_seeders", list)

    assert ImportGenerators().digests() == {}


def test_looking_for_names_imports_no_lazy_module(monkeypatch):
    class Lazy(ModuleType):
        def __getattribute__(self, name: str) -> object:
            raise AssertionError(f"asked for {name}")

    monkeypatch.setitem(sys.modules, "lazy", Lazy("lazy"))

    assert names_of({1: 0}) == {}


def test_numpys_generators_are_found_once_with_their_bit_generators(shop):
    numpy = pytest.importorskip("numpy", reason="draws from numpy's generators")
    bits = numpy.random.PCG64()
    shop.new, shop.again = numpy.random.Generator(bits), numpy.random.Generator(bits)
    shop.bits, shop.legacy = numpy.random.Philox(), numpy.random.RandomState()
    shop.everyones = numpy.random.mtrand._rand

    names = found_names()
    draws = seeded_numbers(lambda: (shop.new.random(), shop.legacy.normal(), shop.bits.random_raw()), 1, 1, 2)

    assert names == {"shop:new", "shop:bits", "shop:legacy"}
    assert draws[0] == draws[1]
    assert all(one != other for one, other in zip(draws[0], draws[2], strict=True))


def test_generators_that_numpys_generator_spawns_follow_the_seed(shop):
    numpy = pytest.importorskip("numpy", minversion="2", reason="older bit generators keep their seed sequence")
    shop.rng = numpy.random.default_rng()

    first, again, other = seeded_numbers(lambda: shop.rng.spawn(1)[0].random(), 1, 1, 2)

    assert first == again != other


def _faker():
    return pytest.importorskip("faker", reason="draws from Faker's generator").Faker().pyint


def _trio():
    return pytest.importorskip("trio._core._run", reason="draws from trio's generator")._r.random


def _factory_boy():
    return pytest.importorskip("factory.random", reason="draws from factory_boy's generator").randgen.random


def _polyfactory():
    factories = pytest.importorskip("polyfactory.factories", reason="draws from polyfactory's generator")
    return factories.TypedDictFactory.__random__.random


@pytest.mark.parametrize("library", [_faker, _trio, _factory_boy, _polyfactory])
def test_generators_of_libraries_follow_the_seed(library):
    draw = library()

    first, again, other = seeded_numbers(lambda: [draw() for _ in range(4)], 1, 1, 2)

    assert first == again != other


class FakeTorchGenerator:
    """Has the methods of `torch.Generator` that we use."""

    def __init__(self) -> None:
        self.state = 67280421310721  # the seed that torch starts with

    def get_state(self) -> SimpleNamespace:
        return SimpleNamespace(tolist=lambda: list(self.state.to_bytes(8, "big")))

    def manual_seed(self, seed: int) -> None:
        assert 0 <= seed < 2**63
        self.state = seed


def test_torchs_default_generator_is_found_and_seeded(monkeypatch):
    torch = ModuleType("torch")
    torch.Generator, torch.default_generator = FakeTorchGenerator, FakeTorchGenerator()
    monkeypatch.setitem(sys.modules, "torch", torch)

    tracked, is_tracked = gc.get_objects, gc.is_tracked
    # As the real ones, which the garbage collector does not know.
    monkeypatch.setattr(gc, "get_objects", lambda: [one for one in tracked() if type(one) is not torch.Generator])
    monkeypatch.setattr(gc, "is_tracked", lambda one: type(one) is not torch.Generator and is_tracked(one))

    names = {one.name for one in ImportGenerators().found}
    first, again, other = seeded_numbers(lambda: torch.default_generator.state, 1, 1, 2)

    assert "torch:default_generator" in names
    assert first == again != other


class FakeEntryPoint:
    def __init__(self, name: str, value: str, seeder) -> None:
        self.name, self.value, self.load = name, value, lambda: seeder


@pytest.fixture
def seeds(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Three registered seeders: of a loaded package, of one that is not loaded, and one that fails."""
    seen: list[object] = []

    def failing(_seed: int) -> None:
        raise RuntimeError

    points = [
        FakeEntryPoint("a", "shop.seeding:broken", failing),
        FakeEntryPoint("b", "shop.seeding:seed", seen.append),
        FakeEntryPoint("c", "not_loaded_anywhere:seed", seen.append),
    ]
    monkeypatch.setattr(
        importlib.metadata,
        "entry_points",
        (lambda group: points)
        if sys.version_info >= (3, 10)
        else lambda: {"pytest_randomly.random_seeder": points},
    )
    return seen


def test_a_seeder_that_a_loaded_package_registered_is_called_with_the_seed(shop, seeds):
    generators = ImportGenerators()
    generators.seed(2**40 + 5, [COMPARED])
    generators.seed(6, [])

    assert seeds == [5]
    assert generators.digests()[COMPARED] == ""
    assert [package for package, _seeder in registered_seeders()] == ["shop", "shop"]


def test_a_seeder_is_not_called_if_the_generators_of_its_package_are_known(shop, seeds):
    shop.rng = random.Random()

    ImportGenerators().seed(5, [COMPARED])

    assert seeds == []


def test_every_kind_has_only_types_of_loaded_modules(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] in ("numpy", "torch")]:
        monkeypatch.delitem(sys.modules, name)

    assert [len(list(kind.types())) > 0 for kind in KINDS] == [True, False, False, False, False]
