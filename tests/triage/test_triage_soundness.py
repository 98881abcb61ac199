"""The promise itself: if an edit changes what a program does, the run that did it touches the edit.

Programs are generated, really executed and really traced; an edit is any pair of them.
"""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from triage_samples import changed, met, seen

PATH = "shop/cart.py"
NUMBERS = st.integers(0, 2)
NAMES = ["f0", "f1", "f2", "f3"]


@st.composite
def expressions(draw, callable_names):
    """A value, from constants of the module, earlier functions and the argument."""
    calls = [f"show({name}(a, {draw(NUMBERS)}))" for name in callable_names]
    atoms = [str(draw(NUMBERS)), "a", "b", "SIZE", "Cart.size", "Cart().total(a)", "chosen()", *calls]
    return draw(st.sampled_from(atoms))


@st.composite
def function_sources(draw, name, earlier):
    """One definition in one of many shapes."""
    value = draw(expressions(earlier))
    shapes = [
        f"def {name}(a, b={draw(NUMBERS)}):\n    return {value}\n",
        f"def {name}(a, b={draw(NUMBERS)}): return {value}\n",
        f"def {name}(a, b=1):\n    yield {value}\n",
        f"def {name}(a, b=1):\n    '''{draw(NUMBERS)}'''\n",
        f"def {name}(a, b=1):\n    pass\n",
        f"async def {name}(a, b=1):\n    return {value}\n",
        f"@twice\ndef {name}(a, b=1):\n    return {value}\n",
        f"def {name}(a, b=1):\n    if a > {draw(NUMBERS)}:\n        return {value}\n    return b\n",
        f"def {name}(a, b=1):\n    def inner(c={value}):\n        return c\n    return inner()\n",
        f"def {name}(a, b=1):\n    global SIZE\n    SIZE = {draw(NUMBERS)}\n    return SIZE\n",
        f"if SIZE > {draw(NUMBERS)}:\n    def {name}(a, b=1):\n        return {value}\n"
        f"else:\n    def {name}(a, b=1):\n        return {draw(NUMBERS)}\n",
        f"{name} = lambda a, b=1: {value}\n",
        f"def {name}(a, b=1):\n    return {draw(NUMBERS)}\ndef {name}(a, b=1):\n    return {value}\n",
        f"class {name}:\n    def __init__(self, a, b=1):\n        self.x = {value}\n",
    ]
    return draw(st.sampled_from(shapes))


PRELUDE = """
def show(value):
    return value if isinstance(value, int) else type(value).__name__
def twice(function):
    return lambda a, b=1: show(function(a, b)) * 2 if a else function.__doc__
"""


@st.composite
def programs(draw):
    """The parts of a program, in order."""
    head = [f"SIZE = {draw(NUMBERS)}\n", PRELUDE]
    methods = f"    size = {draw(NUMBERS)}\n    def total(self, a):\n        return {draw(NUMBERS)} + self.size\n"
    chosen = draw(st.sampled_from(["def chosen():\n    return 1\n", "def chosen():\n    return SIZE\n"]))
    body = [draw(function_sources(name, NAMES[:number])) for number, name in enumerate(NAMES)]
    return [*head, f"class Cart:\n{methods}", chosen, *body]


@st.composite
def edits(draw):
    """A program, and the same with one number changed or some of its parts taken from another program."""
    before = draw(programs())
    edit = draw(st.sampled_from([number_edits, part_edits]))
    called = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=2))
    return "".join(before), "".join(draw(edit(before))), called, draw(NUMBERS)


@st.composite
def number_edits(draw, parts):
    text = "".join(parts)
    place = draw(st.sampled_from([found.start() for found in re.finditer(r"(?<![f\d])\d", text)]))
    return [text[:place], str(draw(NUMBERS)), text[place + 1 :]]


@st.composite
def part_edits(draw, parts):
    other = draw(programs())
    places = draw(st.sets(st.integers(0, len(parts) - 1), min_size=1, max_size=2))
    return [other[place] if place in places else part for place, part in enumerate(parts)]


def outcome(source, called, argument):
    """What the program answers, and the lines it executed."""
    lines = set()

    def watch(frame, event, _value):
        if frame.f_code.co_filename == PATH and event == "line":
            lines.add(frame.f_lineno)
        return watch

    space = {"__name__": "cart"}
    before = sys.gettrace()
    sys.settrace(watch)
    try:
        exec(compile(source, PATH, "exec", dont_inherit=True), space)
        answers = [space["show"](space[name](argument)) for name in called]
    except Exception as error:
        answers = [repr(error)]
    finally:
        sys.settrace(before)
    return answers, lines


@pytest.mark.filterwarnings("ignore:coroutine")
@settings(max_examples=150)
@given(edits())
def test_a_run_that_answers_otherwise_touches_the_edit(case):
    before, after, called, argument = case
    then, _lines = outcome(before, called, argument)
    now, lines = outcome(after, called, argument)

    found = met(
        changed(before, after, path=PATH),
        seen(imported={"shop.cart": f"/repo/{PATH}"}, lines={f"/repo/{PATH}": lines}),
    )

    assert found.touches or then == now
