"""Sums of products over loops, and the tiles of registers that compute them."""
