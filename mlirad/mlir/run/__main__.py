"""`python -m mlirad.mlir.run`."""

import sys

from mlirad.mlir.run.command import main

sys.exit(main())
