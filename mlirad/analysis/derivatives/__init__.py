"""Values that carry derivatives, and values of the forward run that a reverse needs."""
