"""Programs on a tape that use gradients themselves: forces of an energy, in a simulation that is
trained."""
