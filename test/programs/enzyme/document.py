"""The situations as a page of `docs/`."""

from __future__ import annotations

from collections.abc import Iterator

from programs.enzyme import FAMILIES, Situation, absent, situations

HEAD = """# The situations of Enzyme's MLIR tests

[Enzyme](https://github.com/EnzymeAD/Enzyme) is an LLVM plugin that also differentiates MLIR. Its
tests, [`enzyme/test/MLIR`](https://github.com/EnzymeAD/Enzyme/tree/main/enzyme/test/MLIR), compare
the text that its passes print. For each situation in them, this project has its own program, and
the tests run it: they compare reverse mode and forward mode with central differences, on the CPU in
f64 and f32 and on the simulated GPU, as `mlirad-run --check` does. {right} situations are right,
and {refused} are refused with the line.

`cd test && PYTHONPATH=.. python -m programs.enzyme > ../docs/enzyme.md` writes this page from the
programs in `test/programs/enzyme/`.

"""


def document() -> str:
    """Return the page."""
    everything = list(situations())
    refused = sum(situation.refusal is not None for situation in everything)
    head = HEAD.format(right=len(everything) - refused, refused=refused)
    return head + "\n".join([*_families(everything), *_without_programs()]) + "\n"


def _families(everything: list[Situation]) -> Iterator[str]:
    for family, title in FAMILIES.items():
        yield f"## {title}\n\n| situation | Enzyme's tests | here |\n|---|---|---|"
        for situation in everything:
            if situation.family == family:
                yield _row(situation)
        yield ""


def _row(situation: Situation) -> str:
    refusal = situation.refusal
    verdict = "right" if refusal is None else f'refused: "{refusal}"'
    tests = ", ".join(f"`{test}`" for test in situation.tests.split(", "))
    return f"| `{situation.name}`: {situation.description} | {tests} | {verdict} |"


def _without_programs() -> Iterator[str]:
    yield "## Tests without a program here\n\n| Enzyme's tests | about | here |\n|---|---|---|"
    for tests, description, instead in absent():
        names = ", ".join(f"`{test}`" for test in tests.split(", "))
        yield f"| {names} | {description} | {instead} |"
