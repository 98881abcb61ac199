"""Numbers drawn from a generator that nobody seeded."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Context, Looking, Part, uses
from flakehound.lint.rules._function_facts import Call
from flakehound.lint.rules._values import told

# Library -> what seeds its global generator.
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
_EVERYTHING = ("pytest_randomly", "seed_everything", "pytorch_lightning.seed_everything", "transformers.set_seed")
_SILENT = frozenset(
    ("seed", "setstate", "getstate", "set_state", "get_state", "Random", "RandomState", "Generator")
)
_MAKERS = frozenset(
    ("random.Random", "numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.SeedSequence")
)
_TORCH = frozenset(
    ("rand", "randn", "randint", "randperm", "normal", "bernoulli", "multinomial", "rand_like", "randn_like")
)
_NEED_STATE = frozenset(
    ("train_test_split", "shuffle", "KFold", "make_classification", "make_regression", "make_blobs")
)


def library_of(call: Call) -> str | None:
    """Whose unseeded generator a call draws from; None: it draws none, or from a seeded one."""
    name = call.name
    if name in _MAKERS:
        return name.partition(".")[0] if call.is_bare else None
    if name.startswith("random.SystemRandom"):
        return "system"
    if name.startswith(("random.", "numpy.random.")):
        return _of_generator(call)
    return _of_framework(call)


def _of_generator(call: Call) -> str | None:
    rest = call.name.removeprefix("numpy.").removeprefix("random.")
    if call.last in _SILENT or "(_)" in rest or "()." in rest:
        return None
    return call.name.partition(".")[0]


def _of_framework(call: Call) -> str | None:
    if call.name.startswith("torch.") and call.last in _TORCH:
        return "torch"
    if call.name.startswith(("tensorflow.random.", "tensorflow.compat.v1.random")) and "seed" not in call.last:
        return "tensorflow"
    if call.name.startswith("mxnet.") and ".random." in call.name and call.last != "seed":
        return "mxnet"
    unset = call.keyword("random_state") is None
    if call.last == "rvs" and unset:
        return "scipy"
    return "sklearn" if call.name.startswith("sklearn.") and call.last in _NEED_STATE and unset else None


def _look(part: Part) -> Iterator[Sign]:
    for call in part.sights.calls:
        if call.name and library_of(call):
            yield told(call, "{} draws from a generator that nobody seeded")


def _unseeded(context: Context, found: list[tuple[Part, Sign]]) -> Iterator[tuple[Part, Sign]]:
    for part, sign in found:
        call = next(one for one in part.sights.calls if one.node is sign.node)
        seeds = SEEDS.get(library_of(call) or "", ())
        if not (seeds and context.guarded(*seeds)):
            yield part, sign


RULE = Rule(
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
    check=Looking(look=_look, far=True, unless=uses(*_EVERYTHING), sift=_unseeded),
)
