"""Read the context of a test: the facts of every function that it reaches."""

from __future__ import annotations

from flakehound.lint.collect.cases import StaticCase
from flakehound.lint.facts.case_context import CaseContext, FactsCache, ReachedFunction, SourcePlace, place_of
from flakehound.lint.facts.functions import Call
from flakehound.lint.links.reached_code import ReachedCode, Role, is_test_code, reached_functions
from flakehound.lint.source.definitions import Definition
from flakehound.lint.source.modules import Module
from flakehound.lint.source.names import names_of
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import FunctionNode

NEAR_CALLS = 2  # how many calls from the test all rules follow
FAR_CALLS = 4  # how many calls the rules about the network and random numbers follow

_FunctionsByPath = dict[tuple[str, ...], ReachedFunction]  # by the functions called from the test


def context_of(case: StaticCase, project: Project, cache: FactsCache, depth: int = FAR_CALLS) -> CaseContext:
    """The context of a test; all tests of a project share one cache."""
    test = cache.function(case.module, case.function)
    _resolve_self_names(test, case.module, project, case.owner)
    functions: _FunctionsByPath = {(): test}
    for reached in reached_functions(case, project, depth):
        functions.setdefault(reached.via, _reached_function(reached, functions, project, cache))
    return CaseContext(
        test_id=str(case.id),
        functions=tuple(functions.values()),
        cache=cache,
        conftests=project.conftests(case.collected_module),
    )


def _reached_function(
    reached: ReachedCode, functions: _FunctionsByPath, project: Project, cache: FactsCache
) -> ReachedFunction:
    is_production = reached.role is Role.PRODUCTION or not is_test_code(reached.module.path, project)
    function = cache.function(
        reached.module,
        reached.function,
        via=reached.via,
        is_production=is_production,
        called_at=_place_in_test_code(reached.via, functions) if is_production else None,
        caller=functions.get(reached.via[:-1]) if _call_count(reached) else None,
    )
    if reached.fixture is not None:
        function.is_fixture = True
        function.outlives_test = reached.fixture.scope != "function"
        function.runs_before_every_test = reached.fixture.autouse and reached.module.path.endswith("conftest.py")
    function.is_far = _call_count(reached) > NEAR_CALLS
    _resolve_self_names(function, reached.module, project, reached.owner)
    return function


def _call_count(reached: ReachedCode) -> int:
    """How many calls lead from the test to a function; 0 for fixtures and set-up methods."""
    return len(reached.via) if reached.role is Role.PRODUCTION or reached.role is Role.HELPER else 0


def _resolve_self_names(
    function: ReachedFunction, module: Module, project: Project, owner: Definition | None
) -> None:
    """Replace `self.session.get` in the calls by its full name, if the class shows what `session` is."""
    facts = function.facts
    if not isinstance(function.node, FunctionNode) or facts.self_names_resolved:
        return
    facts.self_names_resolved = True
    names = names_of(function.node, module, project, owner)
    for index, call in enumerate(facts.calls):
        if call.name.startswith(("self.", "cls.")):
            name = names.name_of(call.node.func)
            if name and not name.startswith("@"):
                facts.calls[index] = Call(name, call.node, call.parents)


def _place_in_test_code(via: tuple[str, ...], functions: _FunctionsByPath) -> SourcePlace:
    """The place where test code calls the production code that leads to a function."""
    for length in range(len(via) - 1, -1, -1):
        caller = functions.get(via[:length])
        if caller is not None and not caller.is_production:
            return _place_of_call(caller, via[length])
    return _place_of_call(functions[()], via[0])


def _place_of_call(caller: ReachedFunction, callee: str) -> SourcePlace:
    *owners, last = callee.split(".")
    called_name = owners[-1] if owners and last.startswith("__") else last
    node = next((call.node for call in caller.facts.calls if call.short_name == called_name), caller.node)
    return place_of(caller.module.source.path, node)
