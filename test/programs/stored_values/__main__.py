"""See the package."""

from programs.stored_values import main

main()
