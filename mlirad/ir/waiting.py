"""Memory of derivatives that waits to be cleared: from how many bytes on it does."""

LEAST = 1 << 18
