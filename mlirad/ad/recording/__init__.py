"""The notes of a tape, and what reverses need of them."""
