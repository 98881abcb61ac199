"""Where an f-string ends, whose fields may hold the very quote that began it (PEP 701)."""

from __future__ import annotations


def end_of_fstring(text: str, start: int, quote: str) -> int | None:
    """The position after the f-string whose opening quote is at `start`; None if it has no end."""
    try:
        return _after_literal(text, start + len(quote), quote)
    except IndexError:
        return None


def _after_literal(text: str, at: int, end: str) -> int:
    while not text.startswith(end, at):
        if text[at] == "{":
            at = at + 2 if text[at + 1] == "{" else _after_field(text, at + 1)
        elif text[at] == "\\" and text[at + 1] != "{":
            at += 2
        else:
            at += 1
    return at + len(end)


def _after_field(text: str, at: int) -> int:
    depth = 0
    while depth or text[at] != "}":
        char = text[at]
        if char in "\"'":
            at = _after_string(text, at)
            continue
        if char == ":" and not depth:
            return _after_literal(text, at + 1, "}")
        if char == "#":
            at = text.index("\n", at) if "\n" in text[at:] else len(text)
        depth += (char in "([{") - (char in ")]}")
        at += 1
    return at + 1


def _after_string(text: str, at: int) -> int:
    quote = text[at] * 3 if text.startswith(text[at] * 3, at) else text[at]
    if "f" in text[max(0, at - 2) : at].lower():
        return _after_literal(text, at + len(quote), quote)
    at += len(quote)
    while not text.startswith(quote, at):
        at += 2 if text[at] == "\\" else 1
    return at + len(quote)
