"""Signs: the hints at flakiness that a rule finds in one function."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from flakehound.lint.facts.functions import Call


@dataclass(frozen=True, slots=True)
class Sign:
    """A hint at flakiness that a rule found at a syntax node of a function."""

    node: ast.AST
    message: str
    weak: str = ""  # why it says little, "the value is not compared"; "" if it is shown by default


def sign_for(call: Call, message: str, weak: str = "") -> Sign:
    """A sign about a call; {} in the message stands for the call's name."""
    return Sign(call.node, message.format(call.name.replace("(_)", "(...)") + "()"), weak)
