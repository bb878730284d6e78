"""Signatures of functions that other functions create, for `help` and the reference."""

from __future__ import annotations

from inspect import Parameter, Signature


def signature_of(takes: str) -> Signature:
    """Parameters from a list of their names, with `*` in front of one that is repeated; `name=` may
    be left out, and those before `/` have no name in calls."""
    parameters: list[Parameter] = []
    is_behind = False  # one that is repeated
    for text in filter(None, takes.split(", ")):
        if text == "/":
            parameters = [p.replace(kind=Parameter.POSITIONAL_ONLY) for p in parameters]
            continue
        plain = Parameter.KEYWORD_ONLY if is_behind else Parameter.POSITIONAL_OR_KEYWORD
        kind = Parameter.VAR_POSITIONAL if text[0] == "*" else plain
        default = None if text[-1] == "=" else Parameter.empty
        parameters.append(Parameter(text.strip("*="), kind, default=default))
        is_behind |= text[0] == "*"
    return Signature(parameters)
