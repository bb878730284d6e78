"""Notebooks executed, and what they printed when they were written down.

    PYTHONPATH=test python -m notebooks NAME...

executes them and writes down what they show now.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"
_CELL = re.compile(r"/\S*ipykernel_\d+/\d+\.py")  # as Jupyter calls the text of a cell


def executed(name: str) -> Any:
    """A notebook with what its cells show now. Raises CellExecutionError where one fails."""
    import nbformat
    from nbclient import NotebookClient
    from traitlets.config import Config

    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4)
    config = Config({"ConnectionFileMixin": {"transport": "ipc"}})  # no ports, which others take
    NotebookClient(notebook, config=config, timeout=200).execute()
    for cell in notebook.cells:
        cell.metadata = {}
    notebook.metadata.pop("language_info", None)
    return json.loads(_CELL.sub("cell.py", json.dumps(notebook)))


def printed_numbers(notebook: Any) -> str:
    """What cells printed in lines about a loss; the rest, as IR, may change with the compiler."""
    shown = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    text = "".join("".join(output.get("text", "")) for output in shown)
    return "\n".join(line for line in text.splitlines() if line.startswith("loss"))


def main(*names: str) -> None:
    """Write down what notebooks show."""
    for name in names:
        text = json.dumps(executed(name), indent=1, ensure_ascii=False)
        (NOTEBOOKS / f"{name}.ipynb").write_text(f"{text}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
