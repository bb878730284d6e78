"""`python -m fuzz FIRST COUNT`, in `test/`: run that many inputs, and show each kind of failure
once. With `--foreign`, they are functions over memrefs and tensors."""

from __future__ import annotations

import sys
import time
from collections import defaultdict

from fuzz.corpus import foreign_programs, programs
from fuzz.worker import Failure, fuzz, made


def main() -> int:
    """Run the inputs; 1 if any failed."""
    first, count = (int(argument) for argument in sys.argv[1:3])
    corpus = foreign_programs() if "--foreign" in sys.argv else programs()
    start = time.perf_counter()
    kinds: dict[str, list[Failure]] = defaultdict(list)
    for failure in fuzz(corpus, range(first, first + count)):
        kinds[failure.kind].append(failure)
    for kind, failures in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"{len(failures):5} {kind} (inputs {', '.join(str(f.number) for f in failures[:4])})")
    for _, failures in sorted(kinds.items()) if "-v" in sys.argv else ():
        text, options = made(corpus, failures[0].number)
        print("=" * 100, *failures[0].__dict__.values(), *options, "-" * 100, text, sep="\n")
    print(
        f"{count} inputs, {sum(map(len, kinds.values()))} failures, "
        f"{time.perf_counter() - start:.0f} s"
    )
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
