"""Random programs in which features meet, and what each has to give."""
