"""Read the context of a test: the facts of every function that it reaches."""

from __future__ import annotations

from flakehound.lint.collect.cases import StaticCase
from flakehound.lint.facts.case_context import CaseContext, FactsCache, ReachedFunction, ReportedPlace, place_of
from flakehound.lint.facts.functions import Call
from flakehound.lint.links.reached_code import ReachedCode, Role, is_test_code, reached_functions
from flakehound.lint.source.definitions import Definition
from flakehound.lint.source.modules import Module
from flakehound.lint.source.names import names_of
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import FunctionNode

NEAR_CALLS = 2  # calls followed from the test for all rules
FAR_CALLS = 4  # calls followed for what makes tests flaky at any depth: the network, and random numbers

_Paths = dict[tuple[str, ...], ReachedFunction]  # by the names on the way from the test


def context_of(case: StaticCase, project: Project, cache: FactsCache, depth: int = FAR_CALLS) -> CaseContext:
    """The context of a test; the same cache serves all tests of a project."""
    test = cache.function(case.module, case.function)
    _resolve_self_names(test, case.module, project, case.owner)
    paths: _Paths = {(): test}
    for one in reached_functions(case, project, depth):
        paths.setdefault(one.via, _function(one, paths, project, cache))
    return CaseContext(
        test_id=str(case.id),
        functions=tuple(paths.values()),
        cache=cache,
        conftests=project.conftests(case.home),
    )


def _function(one: ReachedCode, paths: _Paths, project: Project, cache: FactsCache) -> ReachedFunction:
    is_production = one.role is Role.PRODUCTION or not is_test_code(one.module.path, project)
    reported_at = _call_in_tests(one.via, paths) if is_production else None
    found = cache.function(
        one.module, one.function, via=one.via, is_production=is_production, reported_at=reported_at
    )
    if one.fixture is not None:
        found.is_fixture = True
        found.outlives_test = one.fixture.scope != "function"
        found.runs_before_every_test = one.fixture.autouse and one.module.path.endswith("conftest.py")
    found.is_far = _calls(one) > NEAR_CALLS
    _resolve_self_names(found, one.module, project, one.owner)
    return found


def _calls(one: ReachedCode) -> int:
    """Calls on the way from the test; fixtures and what they request are none."""
    return len(one.via) if one.role is Role.PRODUCTION or one.role is Role.HELPER else 0


def _resolve_self_names(
    function: ReachedFunction, module: Module, project: Project, owner: Definition | None
) -> None:
    """Replace `self.session.get` in the calls by what it stands for, where the class shows it."""
    facts = function.facts
    if not isinstance(function.node, FunctionNode) or facts.self_names_resolved:
        return
    facts.self_names_resolved = True
    names = names_of(function.node, module, project, owner)
    for index, call in enumerate(facts.calls):
        if call.name.startswith(("self.", "cls.")):
            found = names.name_of(call.node.func)
            if found and not found.startswith("@"):
                facts.calls[index] = Call(found, call.node, call.parents)


def _call_in_tests(via: tuple[str, ...], paths: _Paths) -> ReportedPlace:
    """Where test code calls into production code on the way to a function."""
    for length in range(len(via) - 1, -1, -1):
        caller = paths.get(via[:length])
        if caller is not None and not caller.is_production:
            return _place_of_call(caller, via[length])
    return _place_of_call(paths[()], via[0])


def _place_of_call(caller: ReachedFunction, callee: str) -> ReportedPlace:
    *owners, last = callee.split(".")
    wanted = owners[-1] if owners and last.startswith("__") else last
    node = next((call.node for call in caller.facts.calls if call.short_name == wanted), caller.node)
    return place_of(caller.module.source.path, node)
