"""The kernel under construction: where its ops are inserted, its open regions, its effects."""
