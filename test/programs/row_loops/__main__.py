"""See the package."""

from programs.row_loops import main

main()
