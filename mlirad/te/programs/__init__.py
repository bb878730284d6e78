"""From tensor expressions to kernels and launches."""
