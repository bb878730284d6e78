"""Large sparse trees on a device: addresses, and pages of one pool where something was written."""
