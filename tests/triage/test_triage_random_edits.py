"""Whatever a module looks like: an edit of one function is found in that function, a new layout nowhere."""

from __future__ import annotations

import tokenize
from dataclasses import dataclass
from io import StringIO
from textwrap import indent

from hypothesis import given
from hypothesis import strategies as st
from triage_samples import changed

from flakehound.triage.changes import Reach

LINES = st.sampled_from(
    [
        "value = {}",
        "value = ['a', {}]",
        "value = call(a, key={})",
        "other: int = {}",
        "for each in range({}):\n    value = each",
        "if value:\n    value = {}\nelse:\n    value = call(a)",
        "try:\n    value = {}\nexcept ValueError:\n    raise",
        "def inner(b={}):\n    return b",
        "inner = lambda b: b + {}",
        "with call(a) as value:\n    other = {}",
        "match value:\n    case {}:\n        other = 1\n    case _:\n        other = value",
        "while (value := call({})):\n    break",
        "text = f'{{value}} {}'",
        "return call(a, {})",
    ]
)
DECORATORS = st.sampled_from(["", "@cache\n", "@wrap(\n    'a',\n)\n"])
MODULE_LINES = st.sampled_from(
    ["import os", "SIZE = 3", "NAMES = ['a', \"b\"]", "call = lambda a: a", "if SIZE:\n    pass"]
)


@dataclass(frozen=True)
class Function:
    """A generated function; every statement has one constant."""

    name: str
    head: str
    statements: tuple[str, ...]
    numbers: tuple[int, ...]

    def source(self, numbers=None):
        filled = [
            line.format(number) for line, number in zip(self.statements, numbers or self.numbers, strict=True)
        ]
        return self.head + indent("\n".join(filled), "    ") + "\n"


@st.composite
def functions(draw, name, *, method=False):
    statements = tuple(draw(st.lists(LINES, min_size=1, max_size=4)))
    numbers = tuple(draw(st.lists(st.integers(0, 99), min_size=len(statements), max_size=len(statements))))
    word = draw(st.sampled_from(["def", "async def"]))
    first = "self, a" if method else "a"
    doc = draw(st.sampled_from(["", "    '''Says so.'''\n"]))
    head = f"{draw(DECORATORS)}{word} {name.rpartition('.')[2]}({first}, b=1):\n{doc}"
    return Function(name, head, statements, numbers)


@dataclass(frozen=True)
class Module:
    """A generated module: parts are text, or a function and how deep it stands."""

    parts: tuple

    def functions(self):
        return [part[0] for part in self.parts if isinstance(part, tuple)]

    def source(self, edited=None, numbers=None):
        return "\n".join(self._text(part, edited, numbers) for part in self.parts) + "\n"

    def _text(self, part, edited, numbers):
        if isinstance(part, str):
            return part
        function, depth = part
        return indent(function.source(numbers if function is edited else None), "    " * depth)


@st.composite
def modules(draw):
    parts: list = [draw(MODULE_LINES)]
    for number in range(draw(st.integers(1, 3))):
        opening, closing = draw(st.sampled_from([("", ""), ("if SIZE:", ""), ("try:", "finally:\n    pass")]))
        parts += [opening, (draw(functions(f"f{number}")), int(bool(opening))), closing, draw(MODULE_LINES)]
    parts.append("class Cart:\n    'Says.'\n    size = 3")
    for number in range(draw(st.integers(1, 2))):
        parts.append((draw(functions(f"Cart.m{number}", method=True)), 1))
    return Module(tuple(parts))


@given(modules(), st.data())
def test_a_new_constant_in_one_function_changes_exactly_that_function(module, data):
    function = data.draw(st.sampled_from(module.functions()))
    place = data.draw(st.integers(0, len(function.numbers) - 1))
    numbers = [number + (at == place) * 100 for at, number in enumerate(function.numbers)]

    before, after = module.source(), module.source(function, numbers)
    (found,) = changed(before, after)

    assert (found.name, found.reach) == (function.name, Reach.BODY)
    assert differing_lines(before, after) <= set(found.body_lines[0])


def differing_lines(before, after):
    pairs = zip(before.split("\n"), after.split("\n"), strict=True)
    return {number for number, (one, two) in enumerate(pairs, 1) if one != two}


@given(modules(), st.data())
def test_a_statement_inserted_into_one_function_changes_exactly_that_function(module, data):
    function = data.draw(st.sampled_from(module.functions()))
    place = data.draw(st.integers(0, len(function.statements)))
    statements = [*function.statements[:place], "value = extra", *function.statements[place:]]
    numbers = [*function.numbers[:place], 0, *function.numbers[place:]]
    longer = Function(function.name, function.head, tuple(statements), tuple(numbers))
    parts = tuple(
        (longer, part[1]) if isinstance(part, tuple) and part[0] is function else part for part in module.parts
    )

    (one,) = changed(module.source(), Module(parts).source())
    (other,) = changed(Module(parts).source(), module.source())

    assert (one.name, one.reach) == (other.name, other.reach) == (function.name, Reach.BODY)


@given(modules(), st.data())
def test_another_layout_is_no_change(module, data):
    source = module.source()

    after = data.draw(st.sampled_from(LAYOUTS))(source)

    assert changed(source, after) == ()
    assert changed(after, source) == ()


def with_comments(source):
    return "".join(f"{line}  # {line}\n" for line in source.splitlines())


def with_blank_lines(source):
    return "\n\n".join(source.splitlines()) + "\n\n\n"


def with_wider_indents(source):
    return "".join(line[: len(line) - len(line.lstrip())] * 2 + line.lstrip() for line in source.splitlines(True))


def with_other_quotes(source):
    tokens = [
        (token.type, swapped(token.string) if token.type == tokenize.STRING else token.string)
        for token in tokenize.generate_tokens(StringIO(source).readline)
    ]
    return tokenize.untokenize(tokens)


def swapped(text):
    return text.translate(str.maketrans("'\"", "\"'")) if not text.startswith("f") else text


def with_trailing_space(source):
    return source.replace("\n", "  \n")


LAYOUTS = [with_comments, with_blank_lines, with_wider_indents, with_other_quotes, with_trailing_space]


@given(modules())
def test_a_definition_that_goes_is_never_overlooked(module):
    before = module.source()
    for function in module.functions():
        parts = tuple("pass" if part == (function, 0) else part for part in module.parts)
        if Module(parts) != module:
            assert function.name in {entity.name for entity in changed(before, Module(parts).source())}
