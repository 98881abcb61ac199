"""Find the end of an f-string, whose fields may contain the quote that opened it (PEP 701)."""

from __future__ import annotations


def end_of_fstring(text: str, start: int, quote: str) -> int | None:
    """The position after the f-string whose opening quote is at `start`; None if it does not end."""
    try:
        return _after_literal(text, start + len(quote), quote)
    except IndexError:
        return None


def _after_literal(text: str, position: int, end: str) -> int:
    """The position after the text of an f-string, or of a format specification, that ends with `end`."""
    while not text.startswith(end, position):
        if text[position] == "{":
            position = position + 2 if text[position + 1] == "{" else _after_field(text, position + 1)
        elif text[position] == "\\" and text[position + 1] != "{":
            position += 2
        else:
            position += 1
    return position + len(end)


def _after_field(text: str, position: int) -> int:
    """The position after a replacement field, whose content starts at `position`."""
    depth = 0
    while depth or text[position] != "}":
        char = text[position]
        if char in "\"'":
            position = _after_string(text, position)
            continue
        if char == ":" and not depth:
            return _after_literal(text, position + 1, "}")
        if char == "#":
            position = text.index("\n", position) if "\n" in text[position:] else len(text)
        depth += (char in "([{") - (char in ")]}")
        position += 1
    return position + 1


def _after_string(text: str, position: int) -> int:
    """The position after a string that is nested in a field."""
    quote = text[position] * 3 if text.startswith(text[position] * 3, position) else text[position]
    if "f" in text[max(0, position - 2) : position].lower():
        return _after_literal(text, position + len(quote), quote)
    position += len(quote)
    while not text.startswith(quote, position):
        position += 2 if text[position] == "\\" else 1
    return position + len(quote)
