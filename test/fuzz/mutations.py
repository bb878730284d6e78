"""Ways to spoil a program."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|[%@!#^]?[\w.$#]+|\s+|.', re.DOTALL)
_NUMBERS = (
    "0",
    "-1",
    "1",
    "2",
    "7",
    "64",
    "1023",
    "4294967296",
    "-9223372036854775808",
    "9223372036854775807",
    "1.0e+300",
    "0x7FF0000000000000",
    "100000000000",
    "1e-320",
)
_TYPES = (
    "f32",
    "f64",
    "f16",
    "bf16",
    "i1",
    "i8",
    "i32",
    "i64",
    "index",
    "vector<4xf32>",
    "memref<?xf32>",
    "tensor<2xf32>",
    "!llvm.ptr",
    "!field.array<f32, [16]>",
    "!field.array<f64, []>",
    "!field.array<i32, [-1]>",
    "!grad.stack<f32>",
    "!grad.log<f32, 1>",
    "none",
    "complex<f32>",
)
_OPS = (
    "arith.addf",
    "arith.mulf",
    "arith.divf",
    "arith.maximumf",
    "arith.select",
    "math.sin",
    "math.powf",
    "field.load",
    "field.store",
    "field.atomic",
    "field.dim",
    "field.get",
    "field.alloca",
    "field.random",
    "field.print",
    "field.assert",
    "grad.push",
    "grad.pop",
    "grad.alloc",
    "scf.for",
    "scf.if",
    "scf.while",
    "scf.parallel",
    "gpu.launch",
    "memref.load",
    "memref.store",
    "llvm.call",
    "func.call",
    "cf.br",
    "scf.yield",
    "func.return",
)
_KINDS = ("add", "mul", "min", "max", "minu", "and", "or", "xor", "sub")

Mutation = Callable[[str, Sequence[str], random.Random], str]


def mutate(
    text: str, others: Sequence[str], chance: random.Random, is_program: Callable[[str], bool]
) -> str:
    """A text after some mutations; of most texts, only mutations after which it is a program still,
    so that passes see it."""
    careful = chance.random() < 0.85
    for _ in range(chance.choice((0, 2, 4, 8, 12)) if careful else chance.choice((1, 2, 3))):
        mutant = chance.choices(MUTATIONS, WEIGHTS)[0](text, others, chance)
        if not careful or is_program(mutant):
            text = mutant
    return text


def split_tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def replace_token(text: str, others: Sequence[str], chance: random.Random) -> str:
    """Another token of the same kind, from this program or another."""
    tokens = split_tokens(text)
    words = [i for i, token in enumerate(tokens) if not token.isspace()]
    if not words:
        return text
    at = chance.choice(words)
    source = tokens if chance.random() < 0.7 else split_tokens(chance.choice(others))
    same = [
        token
        for token in source
        if token[0] == tokens[at][0] or (token[0].isalpha() and tokens[at][0].isalpha())
    ]
    tokens[at] = chance.choice(same or [""])
    return "".join(tokens)


def drop_token(text: str, others: Sequence[str], chance: random.Random) -> str:
    tokens = split_tokens(text)
    if tokens:
        tokens.pop(chance.randrange(len(tokens)))
    return "".join(tokens)


def _number(text: str, others: Sequence[str], chance: random.Random) -> str:
    found = list(re.finditer(r"(?<![\w%@.])-?\d+(?:\.\d+(?:e[+-]?\d+)?)?", text))
    return _spliced(text, found, chance.choice(_NUMBERS), chance)


def _type(text: str, others: Sequence[str], chance: random.Random) -> str:
    found = list(
        re.finditer(
            r"![\w.]+(?:<[^<>\n]*>)?|\b(?:f16|f32|f64|i1|i8|i32|i64|index|memref<[^<>\n]*>)(?!\w)",
            text,
        )
    )
    if found and chance.random() < 0.4:  # everywhere, so that types still agree
        old = chance.choice(found)[0]
        return text.replace(old, chance.choice(_TYPES))
    return _spliced(text, found, chance.choice(_TYPES), chance)


def _operation(text: str, others: Sequence[str], chance: random.Random) -> str:
    found = list(
        re.finditer(r"\b(?:arith|math|field|grad|scf|memref|llvm|gpu|func|snode)\.\w+", text)
    )
    return _spliced(text, found, chance.choice(_OPS), chance)


def _kind(text: str, others: Sequence[str], chance: random.Random) -> str:
    found = list(re.finditer(r'(?<=kind = ")\w+', text))
    return _spliced(text, found, chance.choice(_KINDS), chance)


def _value(text: str, others: Sequence[str], chance: random.Random) -> str:
    """One value for another."""
    found = list(re.finditer(r"%\w+", text))
    return _spliced(text, found, chance.choice(found)[0], chance) if found else text


def _spliced(text: str, found: Sequence[re.Match[str]], new: str, chance: random.Random) -> str:
    if not found:
        return text
    match = chance.choice(found)
    return text[: match.start()] + new + text[match.end() :]


def _drop_line(text: str, others: Sequence[str], chance: random.Random) -> str:
    lines = text.split("\n")
    lines.pop(chance.randrange(len(lines)))
    return "\n".join(lines)


def _repeat_line(text: str, others: Sequence[str], chance: random.Random) -> str:
    lines = text.split("\n")
    lines.insert(chance.randrange(len(lines)), chance.choice(lines))
    return "\n".join(lines)


def _foreign_line(text: str, others: Sequence[str], chance: random.Random) -> str:
    lines = text.split("\n")
    lines.insert(chance.randrange(len(lines)), chance.choice(chance.choice(others).split("\n")))
    return "\n".join(lines)


_WRAPS = (
    (
        "gpu.launch blocks(%a#, %b#, %c#) in (%d# = %one#, %e# = %one#, %f# = %one#) "
        "threads(%g#, %h#, %i#) in "
        "(%j# = %one#, %k# = %one#, %l# = %one#) {",
        "gpu.terminator\n}",
    ),
    ("scf.execute_region {", "scf.yield\n}"),
    ("scf.if %yes# {", "}"),
    ("memref.alloca_scope {", "}"),
    ("scf.for %q# = %one# to %n# step %one# {", "}"),
    ("scf.parallel (%q#) = (%one#) to (%n#) step (%one#) {", "scf.reduce\n}"),
    ("scf.while : () -> () {\nscf.condition(%yes#)\n} do {", "scf.yield\n}"),
    ("affine.for %q# = 0 to 4 {", "}"),
    ("cf.br ^bb#\n^bb#:", ""),
    ("module {\nfunc.func @inner#() {", "return\n}\n}"),
    ("func.func private @inner#(%x#: f32) -> f32 {", "return %x# : f32\n}"),
    (
        '%pure# = "grad.custom"(%real#) ({\n^bb0(%x#: f32):',
        '"grad.yield"(%x#) : (f32) -> ()\n}, {}, {}) {function = '
        '"f", operandSegmentSizes = array<i32: 1, 0>} : (f32) -> f32',
    ),
)
_SETUP = (
    "%one# = arith.constant 1 : index",
    "%n# = arith.constant 8 : index",
    "%yes# = arith.constant true",
    "%real# = arith.constant 0.5 : f32",
)


def _wrap(text: str, others: Sequence[str], chance: random.Random) -> str:
    """A region around some lines."""
    lines = text.split("\n")
    first = chance.randrange(len(lines))
    last = min(len(lines), first + chance.randrange(0, 4))
    head, tail = chance.choice(_WRAPS)
    setup = _SETUP if "func.func" not in head else ()
    wrapped = "\n".join([*lines[:first], *setup, head, *lines[first:last], tail, *lines[last:]])
    return wrapped.replace("#", str(chance.randrange(1000, 9999))) if "#" not in text else text


def _publish(text: str, others: Sequence[str], chance: random.Random) -> str:
    """Another visibility, name or number of a symbol, a loop or a parameter."""
    old, new = chance.choice(
        (
            ("func.func @", "func.func private @"),
            ("func.func private @", "func.func @"),
            ("private ", ""),
            ('sym_name = "', 'sym_name = "y'),
            ("@", "@x."),
            ("scf.for", "scf.parallel"),
            ("adjoint = @", "duals = [@"),
            ("f32", "f64"),
            ('kind = "add"', 'kind = "mul"'),
            ('kind = "add"', 'kind = "min"'),
            ("arith.addf", "math.powf"),
            ("field.load", "field.store"),
            ("[16]", "[-1]"),
            ("field.alloca", "field.get"),
            ("scf.parallel", "scf.for"),
        )
    )
    found = list(re.finditer(re.escape(old), text))
    return text.replace(old, new) if chance.random() < 0.4 else _spliced(text, found, new, chance)


def _attribute(text: str, others: Sequence[str], chance: random.Random) -> str:
    """An attribute of passes of ours, where none was, or none where one was."""
    found = list(
        re.finditer(
            r", ?[\w.]+ = (?:\"[^\"]*\"|\[[^\]]*\]|@[\w.]+|\d+)|(?<=\{)[\w.]+(?= *\})", text
        )
    )
    if found and chance.random() < 0.5:
        return _spliced(text, found, "", chance)
    new = chance.choice(
        (
            "field.plain",
            "field.reduce",
            "field.axis = 0 : i64",
            "field.axis = 7 : index",
            "block_dim = 0 : i64",
            "block_dim = 4096 : i32",
            "grad.redone = [@x]",
            "grad.redone = [0 : i64]",
            'grad.verdicts = ["no"]',
            "field.symbol = @x",
            "field.flows = []",
            'grad.remarks = ["hello"]',
            'sym_visibility = "nested"',
            "grad.redone = [7 : i64]",
            'field.axis = "x"',
            "llvm.noalias",
            'custom = [1.0, "a"]',
        )
    )
    # ops without attributes
    bare = list(re.finditer(r"(?<=\n  )\}\n|(?= : \((?:f32|!field))", text))
    if bare and chance.random() < 0.5:
        return _spliced(
            text, bare, f"}} {{{new}}}\n" if chance.random() < 0.5 else f" {{{new}}}", chance
        )
    return _spliced(text, list(re.finditer(r"(?<=\{)(?=\w)", text)), f"{new}, ", chance)


def _nest(text: str, others: Sequence[str], chance: random.Random) -> str:
    """A branch within a branch within a branch."""
    depth = chance.choice((3, 30, 300, 2500))
    position = text.find("return")
    if position < 0:
        return text
    return (
        text[:position]
        + "%nest = arith.constant true\n"
        + "scf.if %nest {\n" * depth
        + "}\n" * depth
        + text[position:]
    )


def _bytes(text: str, others: Sequence[str], chance: random.Random) -> str:
    position = chance.randrange(len(text) + 1)
    return (
        text[:position]
        + chance.choice(('"', "{", "}", "(", "<", "\\FF", "\0", "é", "%", "#", "^bb0:"))
        + text[position:]
    )


def _cut(text: str, others: Sequence[str], chance: random.Random) -> str:
    return text[: chance.randrange(len(text) + 1)]


MUTATIONS: tuple[Mutation, ...] = (
    replace_token,
    drop_token,
    _number,
    _type,
    _operation,
    _kind,
    _value,
    _drop_line,
    _repeat_line,
    _foreign_line,
    _wrap,
    _nest,
    _bytes,
    _cut,
    _publish,
    _attribute,
)
WEIGHTS = (4, 2, 4, 4, 3, 2, 6, 3, 2, 2, 6, 0.2, 0.5, 0.3, 4, 3)
