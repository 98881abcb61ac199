"""Random numbers from a generator without a seed."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.rules._checks import FunctionCheck, Hit, uses
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for

# Library -> functions that seed its global generator.
SEEDS = {
    "random": ("random.seed", "random.setstate"),
    "numpy": ("numpy.random.seed", "numpy.random.set_state", "numpy.testing"),
    "torch": ("torch.manual_seed", "torch.random.manual_seed", "torch.seed"),
    "tensorflow": (
        "tensorflow.random.set_seed",
        "tensorflow.set_random_seed",
        "tensorflow.compat.v1.set_random_seed",
    ),
    "mxnet": ("mxnet.random.seed",),
    "scipy": ("numpy.random.seed",),
    "sklearn": ("numpy.random.seed",),
}
_SEED_ALL_LIBRARIES = (
    "pytest_randomly",
    "pytorch_lightning.seed_everything",
    "seed_everything",
    "transformers.set_seed",
)
_FUNCTIONS_WITHOUT_DRAW = frozenset(
    {
        "Generator",
        "Random",
        "RandomState",
        "get_state",
        "getstate",
        "seed",
        "set_state",
        "setstate",
    }
)
_GENERATOR_CLASSES = frozenset(
    {
        "numpy.random.RandomState",
        "numpy.random.SeedSequence",
        "numpy.random.default_rng",
        "random.Random",
    }
)
_TORCH_DRAWS = frozenset(
    {
        "bernoulli",
        "multinomial",
        "normal",
        "rand",
        "rand_like",
        "randint",
        "randn",
        "randn_like",
        "randperm",
    }
)
_SKLEARN_DRAWS = frozenset(
    {
        "KFold",
        "make_blobs",
        "make_classification",
        "make_regression",
        "shuffle",
        "train_test_split",
    }
)


def library_of(call: Call) -> str | None:
    """The library whose unseeded generator a call uses; None if it uses none or a seeded one."""
    name = call.name
    if name in _GENERATOR_CLASSES:
        return name.partition(".")[0] if call.has_no_arguments else None
    if name.startswith("random.SystemRandom"):
        return "system"
    if name.startswith(("random.", "numpy.random.")):
        return _library_of_global_generator(call)
    return _library_of_framework(call)


def _library_of_global_generator(call: Call) -> str | None:
    rest = call.name.removeprefix("numpy.").removeprefix("random.")
    if call.short_name in _FUNCTIONS_WITHOUT_DRAW or "(_)" in rest or "()." in rest:
        return None
    return call.name.partition(".")[0]


def _library_of_framework(call: Call) -> str | None:
    if call.name.startswith("torch.") and call.short_name in _TORCH_DRAWS:
        return "torch"
    if (
        call.name.startswith(("tensorflow.random.", "tensorflow.compat.v1.random"))
        and "seed" not in call.short_name
    ):
        return "tensorflow"
    if call.name.startswith("mxnet.") and ".random." in call.name and call.short_name != "seed":
        return "mxnet"
    without_state = call.keyword("random_state") is None
    if call.short_name == "rvs" and without_state:
        return "scipy"
    return (
        "sklearn"
        if call.name.startswith("sklearn.") and call.short_name in _SKLEARN_DRAWS and without_state
        else None
    )


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in function.facts.calls:
        if call.name and library_of(call):
            yield sign_for(call, "{} draws from a generator that nobody seeded")


def _without_seeded(context: CaseContext, hits: list[Hit]) -> Iterator[Hit]:
    for function, sign in hits:
        call = next(call for call in function.facts.calls if call.node is sign.node)
        seeds = SEEDS.get(library_of(call) or "", ())
        if not (seeds and context.uses(*seeds)):
            yield function, sign


RULE = LintRule(
    id="FH101",
    name="unseeded-randomness",
    cause=Cause.RANDOMNESS,
    title="Random numbers without a seed",
    why="Each run draws other numbers; sooner or later one of them breaks an assertion that most of them satisfy.",
    fix="Seed the generator in the test or in a fixture (`random.Random(7)`, `numpy.random.default_rng(7)`), "
    "or assert only what holds for every number.",
    bad="import random\n\ndef test_dice():\n    assert random.randint(1, 6) != 6\n",
    good="import random\n\ndef test_dice():\n    dice = random.Random(7)\n    assert dice.randint(1, "
    "6) in range(1, 7)\n",
    check=FunctionCheck(find=_find, in_far_calls=True, unless=uses(*_SEED_ALL_LIBRARIES), select=_without_seeded),
)
