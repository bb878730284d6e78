"""Memory as pointers and descriptors, and memory of one launch."""
