"""The colors of MLIR's textual form, which Pygments does not know."""

from __future__ import annotations

from pygments.lexer import RegexLexer, words
from pygments.lexers import LEXERS
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

__all__ = ["MlirLexer"]
_WORDS = ("attributes", "dense", "else", "false", "iter_args", "loc", "step", "to", "true", "unit")


class MlirLexer(RegexLexer):
    """Color values, symbols, types, attributes, and ops."""

    name, aliases = "MLIR", ["mlir"]
    tokens = {
        "root": [
            (r"\s+", Text),
            (r"//[^\n]*", Comment.Single),
            (r'"(\\.|[^"\\])*"', String),
            (r"%[\w.$#-]+(:\d+)?", Name.Variable),
            (r"@[\w.$-]+", Name.Function),
            (r"\^\w+", Name.Label),
            (r"![\w.]+", Keyword.Type),
            (r"#[\w.]+", Name.Decorator),
            (r"\b(b?f\d+|tf32|[su]?i\d+|index|none)\b", Keyword.Type),
            (r"\b(memref|tensor|vector|tuple|complex|affine_map)(?=<)", Keyword.Type),
            (words(_WORDS, r"\b", r"\b"), Keyword),
            (r"-?\b(0x[0-9a-fA-F]+|\d+(\.\d*)?([eE][+-]?\d+)?)", Number),
            (r"[A-Za-z_]\w*\.[\w.]+", Name.Builtin),
            (r"[A-Za-z_]\w*", Name),
            (r"->|[=:*+-]", Operator),
            (r"[^\s\w]", Punctuation),
        ]
    }


def register_lexer() -> None:
    """Make Pygments find the lexer by the name `mlir`."""
    LEXERS["MlirLexer"] = (__name__, "MLIR", ("mlir",), ("*.mlir",), ())
