"""Iterations as lanes of vectors: what differs between them, what they share, what they cost."""
