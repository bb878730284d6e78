"""How functions that are made by functions are called, for `help` and the reference."""

from __future__ import annotations

from inspect import Parameter, Signature


def signature_of(takes: str) -> Signature:
    """Parameters from a list of their names, with `*` in front of one that is repeated; `name=` may
    be left out, and those before `/` have no name in calls."""
    found: list[Parameter] = []
    for text in filter(None, takes.split(", ")):
        if text == "/":
            found = [one.replace(kind=Parameter.POSITIONAL_ONLY) for one in found]
            continue
        name = text.strip("*=")
        kind = Parameter.VAR_POSITIONAL if text[0] == "*" else Parameter.POSITIONAL_OR_KEYWORD
        default = None if text[-1] == "=" else Parameter.empty
        found.append(Parameter(name, kind, default=default))
    return Signature(found)
