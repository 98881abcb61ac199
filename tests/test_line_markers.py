"""The markers that record which lines ran; see line_markers.py."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from line_markers import mark

SOURCE = '''
    """A docstring."""
    from __future__ import annotations
    import functools

    @functools.lru_cache
    def sign(number):
        """Another."""
        if number > 0:
            return 1
        elif number < 0:
            return -1
        else:
            return 0

    def caught(error):
        try:
            raise error
        except KeyError:
            return "key"
        except ValueError:
            return "value"
        finally:
            done = True
'''


def executed(tmp_path: Path, *calls: str) -> tuple[dict[str, object], set[int]]:
    path = tmp_path / "module.py"
    path.write_text(dedent(SOURCE).lstrip())
    module = mark(path)
    names: dict[str, object] = {"__executed__": bytearray(len(module.lines)), "__name__": "module"}
    exec(module.code, names)
    for call in calls:
        exec(call, names)
    hits = names["__executed__"]
    return names, {line for hit, lines in zip(hits, module.lines, strict=True) if hit for line in lines}


def test_a_marked_module_does_what_it_did(tmp_path):
    names, _lines = executed(
        tmp_path, "found = [sign(3), sign(-3), sign(0), caught(KeyError()), sign.__wrapped__.__doc__]"
    )

    assert names["__doc__"] == "A docstring."
    assert names["found"] == [1, -1, 0, "key", "Another."]


def test_the_lines_of_an_import_are_those_outside_functions(tmp_path):
    assert executed(tmp_path)[1] == {1, 2, 3, 5, 6, 15}


def test_only_the_branches_that_ran_count(tmp_path):
    assert executed(tmp_path, "sign(-3)")[1] - executed(tmp_path)[1] == {7, 8, 10, 11}
    assert executed(tmp_path, "caught(ValueError())")[1] - executed(tmp_path)[1] == {16, 17, 20, 21, 23}
