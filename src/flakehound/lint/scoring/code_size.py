"""Count how much a test uses: names that it calls, words in its names and strings, names that its file imports.

A test that does more has more ways to fail. Distinct names say that better than lines do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.scoring.vocabulary import words_in_function, words_in_name

_LONG_STRING = 200  # characters; longer strings are data


class CodeSize(NamedTuple):
    """How many different names and words the code of one test uses."""

    called_names: int  # in its test code
    far_called_names: int  # in functions that are many calls away
    name_words: int  # in the test function
    string_words: int  # in the test function
    imported_names: int  # by its file


def code_size(context: CaseContext) -> CodeSize:
    """The counts of one test."""
    test = context.functions[0]
    return CodeSize(
        called_names=_count_called(context.test_code),
        far_called_names=_count_called(function for function in context.functions if function.is_far),
        name_words=len(test.compute_once(words_in_function)),
        string_words=len(test.compute_once(_words_in_strings)),
        imported_names=len(set(test.module.imports.values())),
    )


def words_of_test(context: CaseContext) -> frozenset[str]:
    """The words in the names and short strings of the test function."""
    test = context.functions[0]
    return test.compute_once(words_in_function) | test.compute_once(_words_in_strings)


def _count_called(functions: Iterable[ReachedFunction]) -> int:
    return len(frozenset[str]().union(*(function.compute_once(_called_names) for function in functions)))


def _called_names(function: ReachedFunction) -> frozenset[str]:
    return frozenset(call.name.replace("()", "").replace("(_)", "") for call in function.facts.calls if call.name)


def _words_in_strings(function: ReachedFunction) -> frozenset[str]:
    texts = {str(constant.value) for constant in function.facts.strings}
    return frozenset[str]().union(*(words_in_name(text) for text in texts if len(text) < _LONG_STRING))
