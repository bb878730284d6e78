"""Pages made of notebooks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def notebook_page(file: Path) -> str:
    """Return the texts and programs of a notebook, with the output of its last run."""
    parts = []
    for cell in json.loads(file.read_text())["cells"]:
        text = "".join(cell["source"])
        parts.append(f"```python\n{text}\n```" if cell["cell_type"] == "code" else text)
        parts += [_output(output) for output in cell.get("outputs", ())]
    return "\n\n".join(parts)


def _output(output: dict[str, Any]) -> str:
    """Return what a cell printed, or the richest form of its value."""
    data = output.get("data", {})
    if "image/gif" in data:
        return f'<img alt="video" src="data:image/gif;base64,{"".join(data["image/gif"]).strip()}">'
    if "text/html" in data:
        return "".join(data["text/html"])
    return f"```text\n{''.join(output.get('text') or data['text/plain'])}\n```"
