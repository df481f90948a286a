"""`python -m evalcore`: the command line."""

import sys

from evalcore.cli import main

sys.exit(main())
