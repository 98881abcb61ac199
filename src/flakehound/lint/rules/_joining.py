"""From a test and what it reaches to what the rules see."""

from __future__ import annotations

from flakehound.lint.collect.cases import StaticCase
from flakehound.lint.links.reached_code import Reached, Role, is_test_code, reached
from flakehound.lint.rules._context import Context, Memory, Part
from flakehound.lint.rules._function_facts import Call, FunctionNode
from flakehound.lint.source.names import names_of
from flakehound.lint.source.project import Project

DEPTH = 2  # calls followed from the test for all rules
FAR = 4  # calls followed for what flakes however deep it is: the network, and random numbers


def context_of(case: StaticCase, project: Project, memory: Memory, depth: int = FAR) -> Context:
    """What the rules see of a test; hand the same memory in for all tests of a project."""
    test = memory.part(case.module, case.function)
    _name_attributes(test, case.module, project, case.owner)
    ways: dict[tuple[str, ...], Part] = {(): test}
    for one in reached(case, project, depth):
        ways.setdefault(one.via, _part(one, ways, project, memory))
    return Context(
        case_id=str(case.id),
        parts=tuple(ways.values()),
        memory=memory,
        conftests=project.conftests(case.home),
    )


def _part(one: Reached, ways: dict[tuple[str, ...], Part], project: Project, memory: Memory) -> Part:
    production = one.role is Role.PRODUCTION or not is_test_code(one.module.path, project)
    shown = _place_in_tests(one.via, ways) if production else None
    part = memory.part(one.module, one.function, via=one.via, production=production, shown=shown)
    part.fixture = part.fixture or one.fixture is not None
    part.wide = one.fixture is not None and one.fixture.scope != "function"
    part.everywhere = one.fixture is not None and one.fixture.autouse and one.module.path.endswith("conftest.py")
    part.far = _calls(one) > DEPTH
    _name_attributes(part, one.module, project, one.owner)
    return part


def _calls(one: Reached) -> int:
    """Calls on the way; fixtures and what they ask for are none."""
    return len(one.via) if one.role is Role.PRODUCTION or one.role is Role.HELPER else 0


def _name_attributes(part: Part, module: object, project: Project, owner: object) -> None:
    """Say what `self.session.get` stands for, where the class shows it."""
    function = part.function
    if not isinstance(function, FunctionNode) or part.sights.attributes_named:
        return
    part.sights.attributes_named = True
    names = names_of(function, module, project, owner)  # type: ignore[arg-type]
    for index, call in enumerate(part.sights.calls):
        if call.name.startswith(("self.", "cls.")):
            found = names.of(call.node.func)
            if found and not found.startswith("@"):
                part.sights.calls[index] = Call(found, call.node, call.parents)


def _place_in_tests(via: tuple[str, ...], ways: dict[tuple[str, ...], Part]) -> tuple[str, int, int]:
    """Where test code calls into production code on the way to a function."""
    for length in range(len(via) - 1, -1, -1):
        caller = ways.get(via[:length])
        if caller is not None and not caller.production:
            return _calling_line(caller, via[length])
    return _calling_line(ways[()], via[0])


def _calling_line(caller: Part, callee: str) -> tuple[str, int, int]:
    *owners, last = callee.split(".")
    wanted = owners[-1] if owners and last.startswith("__") else last
    node = next((call.node for call in caller.sights.calls if call.last == wanted), caller.function)
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
    return caller.surroundings.source.path, line, column
