"""`python -m programs.enzyme`, in `test/`: the page of `docs/`."""

from programs.enzyme.document import document

print(document(), end="")
