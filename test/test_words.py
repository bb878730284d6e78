"""Documents are in plain American English: words and idioms that do not occur in them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from test_documents import DOCS, DOCUMENTS, methods_of, public_names

UNITS = (
    "second|step|launch|kernel|row|thread|cell|particle|iteration|pair|block|rank|element|state"
    "|call|loop|page|process|line|frame|tangent|direction|trip|lane|workload|sample|column"
)
COUNTS = r"bytes|numbers|times|once|copies|operations|instructions|µs|ms|s|[\d.,]*\d"
INSTEAD = {  # what does not occur in prose, and what to write
    r"\bone's\b": "your, its",
    r"(?<!there )(?:is|are|was|were) no (?!longer|more|(?:fast|slow|larg|small|lat)er)": "not a",
    r"\bwhere one\b": "if you",
    r"\bwhat few\b": "what rarely",
    r"\bthe seed of th(?:is|e)\b": "nothing: the history of the project",
    rf"\b(?:{COUNTS}) an? (?:{UNITS})\b(?! of)": "per",
    r"\bderivatives? in `?\w`? ": "with respect to",
    r"\bin front of\b": "before",
    r"\bbehind (?:it|them|its|the (?:loop|nest|last|block|call|use|sum))\b": "after",
    r"\bbeside\b": "next to, compared with",
    r"\bbut for\b": "except for",
    r"\b(?:asks?|asked) for\b": "request",
    r"\b(?:no|some)body\b": "no user, nothing",
    r"\banew\b": "again",
    r"\bso many\b": "this many",
    r"\bstands? (?:in|behind|at|on)\b": "is",
    r"\bin the place of\b": "in place of",
    r"\bof (?:its|their|our) own\b": "its own",
    r"\bgiv(?:es?|en|ing) back\b": "return, restore",
    r"\bnot? any more\b|\bno more\.": "no longer",
    r"\btak(?:e|es|en) (?:it|them) for\b": "treat as",
    r"\bt(?:ell|ells|old) (?:\w+ )?apart\b": "distinguish",
    r"\bmade of (?:it|them)\b": "created from",
    r"\bfor want of\b": "without",
    r"\bhand(?:s|ed)? (?:it|them|on)\b": "pass",
    r"\bto be had\b": "available",
    r"\ba (?:ndarray|MLIR|LLVM|f32|f64|i32|i64|u8|hvp)\b(?<!a u8)(?<!a hvp)": "an",
    r"\b(?:whence|hence|thereof|therein|wherein|whilst|amongst|till)\b": "a shorter sentence",
    r"\b(?:on|by) import of\b": "when imported",
    r"\brefused by name\b": "refused; the error names it",
    r"\bthe same holds\b": "the same applies",
    r"\bwhat (?:the|a) (?:forward )?program (?:left|leaves)\b": "the values that the program left",
    r"\bfails? the launch\b": "raises an error at the launch",
    r"\bon (?:every|all) machines?\b": "on every device",
    r"\b(?:if|where) (?:that|it) pays\b": "if that is faster",
    r"\bwithout being noticed\b": "undetected",
    r"\b(?:imports|arrows) point\b": "go in one direction",
}
BRITISH = (
    r"\b(?:\w*olour|\w*aviour|\w*eighbour|(?:en)?favour|honour|centre|grey|licence|catalogue|fibre"
    r"|artefact|modell|labell|travell|cancell(?!ation)|judgement|programme(?!r)|analys(?=(?:ed?|ing)\b)"
    r"|\w*(?:optim|initial|normal|vector|parallel|serial|material|real|general|special|minim|maxim"
    r"|linear|discret|regular|recogn|organ|summar|synchron|token|util|visual|author|character"
    r"|factor|local|random|standard|categor|custom|emphas|quant|ferti|capital|penal|stabil)is"
    r"(?=e|ing|ation))\w*"
)
EXCEPT = {"materialise"}  # an option of te.build
AVOIDED = re.compile(r"^## Avoid\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)  # of the glossary
ADDS = ("parser.add_argument", "add")  # how options of command lines are declared
NOTEBOOKS = sorted(DOCS.glob("notebooks/*.ipynb"))
CODE = re.compile(r"^( *)```.*?^\1```|`[^`\n]*`|<!--.*?-->", re.MULTILINE | re.DOTALL)


def text_of(document: Path) -> str:
    """Return a document; of a notebook, its paragraphs."""
    if document.suffix != ".ipynb":
        return AVOIDED.sub("", document.read_text())
    cells = json.loads(document.read_text())["cells"]
    return "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


def idioms(text: str) -> Iterator[str]:
    """Yield what prose must not contain, with its neighborhood and what to write."""
    prose = " ".join(CODE.sub("`code`", text).split())
    for idiom, instead in INSTEAD.items():
        for match in re.finditer(idiom, prose, re.IGNORECASE):
            around = prose[max(0, match.start() - 40) : match.end() + 20]
            yield f"...{around}...: instead of '{match[0]}' write: {instead}"


@pytest.mark.parametrize("document", [*DOCUMENTS, *NOTEBOOKS], ids=lambda path: path.name)
def test_idioms_of_this_project_do_not_occur(document: Path) -> None:
    assert not list(idioms(text_of(document)))


@pytest.mark.parametrize("document", [*DOCUMENTS, *NOTEBOOKS], ids=lambda path: path.name)
def test_spelling_is_american(document: Path) -> None:
    """In programs, too: readers search for these words."""
    british = re.findall(BRITISH, text_of(document), re.IGNORECASE)
    assert not {*british} - EXCEPT


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("a ndarray is no tensor of torch, and one's own", 3),
        ("It takes 3 ms a step, twice a day, and `x` behind the loop.", 2),
        ("There is no loop, 3 ms per step, and it is no longer than before.", 0),
        ("```python\nx = 3  # beside\n```\n`beside`", 0),
    ],
)
def test_idioms_are_seen(text: str, number: int) -> None:
    assert len([*idioms(text)]) == number


def test_british_spellings_are_seen() -> None:
    text = "optimiser colours neighbouring behaviour initialised vectorisation centre analysed it"
    assert len(re.findall(BRITISH, text)) == 8
    assert not re.findall(BRITISH, "otherwise raise precise noise exercise analyses metrics")


def test_docstrings_of_public_names_are_plain() -> None:
    texts = {
        documented.__doc__ or ""
        for _, _, value in public_names()
        for documented in (value, *(methods_of(value.__mro__) if isinstance(value, type) else ()))
    }
    assert len(texts) > 500
    british = {word for text in texts for word in re.findall(BRITISH, text, re.IGNORECASE)}
    assert not british - EXCEPT
    assert not [problem for text in texts for problem in idioms(text)]


def options() -> Iterator[tuple[str, str, dict[str | None, str]]]:
    """Yield the arguments of all command lines: the place, the name, and the keywords."""
    root = DOCS.parent
    for folder in ("mlirad", "benchmarks", "tools", "test/programs"):
        for path in sorted((root / folder).rglob("*.py")):
            text = path.read_text()
            for node in ast.walk(ast.parse(text)) if "argparse" in text else ():
                if isinstance(node, ast.Call) and ast.unparse(node.func) in ADDS and node.args:
                    keywords = {entry.arg: ast.unparse(entry.value) for entry in node.keywords}
                    place = f"{path.relative_to(root)}:{node.lineno}"
                    yield place, ast.unparse(node.args[0]).strip("'*("), keywords


def test_arguments_of_command_lines_have_help_and_options_their_default() -> None:
    found = [*options()]
    assert len(found) > 100
    assert [place for place, _, keywords in found if "help" not in keywords] == []
    assert not [
        f"{place}: {name} has no default in its help"
        for place, name, keywords in found
        if name.startswith("--") and "type" in keywords and "SUPPRESS" not in keywords["help"]
        if not ("required" in keywords or keywords["help"].isidentifier())
        if not re.search(r"\bdefault\b", keywords["help"])
    ]


OWN = r"\bof (?:its|their|our) own\b"  # a phrase of many messages, which tests of all passes quote


@cache
def modules() -> dict[str, ast.Module]:
    """Return the syntax trees of the package."""
    root = DOCS.parent
    paths = sorted((root / "mlirad").rglob("*.py"))
    return {str(path.relative_to(root)): ast.parse(path.read_text()) for path in paths}


def messages(tree: ast.Module) -> Iterator[str]:
    """Yield the texts of a module that are not docstrings, with X in place of what is inserted."""
    nodes = list(ast.walk(tree))
    skipped = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    skipped |= {id(v) for node in nodes if isinstance(node, ast.JoinedStr) for v in node.values}
    for node in nodes:
        if id(node) not in skipped and isinstance(node, ast.JoinedStr):
            parts = [
                value.value if isinstance(value, ast.Constant) else "X" for value in node.values
            ]
            yield "".join(map(str, parts))
        elif id(node) not in skipped and isinstance(node, ast.Constant):
            yield str(node.value)


def test_messages_are_plain() -> None:
    texts = {text for tree in modules().values() for text in messages(tree) if " " in text}
    assert len(texts) > 2500
    joined = "\n¶\n".join(sorted(texts))  # one search is faster than one for each text
    assert not re.findall(BRITISH, joined, re.IGNORECASE)
    problems = [*idioms(joined)]
    assert not [problem for problem in problems if not re.search(OWN, problem)]


def docstrings() -> Iterator[tuple[str, str]]:
    """Yield the place and the text of every docstring of the package."""
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield f"{path}:{getattr(node, 'lineno', 1)}", ast.get_docstring(node) or ""


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    texts = [*docstrings()]
    assert len(texts) > 5000
    start = re.compile(r"(What|Where|Whether|How|Who|Which|That|Those|It|So|The same)\b")
    assert not [f"{place}: {text[:60]}" for place, text in texts if start.match(text)]
