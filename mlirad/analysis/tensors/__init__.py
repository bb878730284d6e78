"""Points of definitions of tensors: accesses, and systems of integer equations."""
