"""Functions of vectors, run as upstream lowers them and as their elements."""
