"""Signs: what a rule finds in one function."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from flakehound.lint.facts.functions import Call


@dataclass(frozen=True, slots=True)
class Sign:
    """What a rule found in one function, at the place of a syntax node."""

    node: ast.AST
    message: str


def sign_for(call: Call, message: str) -> Sign:
    """A sign about a call; {} in the message stands for the call's name."""
    return Sign(call.node, message.format(call.name.replace("(_)", "(...)") + "()"))
