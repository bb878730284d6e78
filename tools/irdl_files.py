"""Write our dialects as IRDL text into mlirad/dialect/irdl.

    python tools/irdl_files.py

mlirad and other tools load the dialects from these files.
"""

import argparse
from pathlib import Path

from mlirad.dialect.irdl_text import irdl_texts

FOLDER = Path(__file__).parents[1] / "mlirad" / "dialect" / "irdl"


def main() -> None:
    """Write a file for each dialect."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    for name, text in irdl_texts().items():
        (FOLDER / f"{name}.mlir").write_text(text)


if __name__ == "__main__":
    main()
