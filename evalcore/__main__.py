"""`python -m evalcore`: the command line."""

import sys

from evalcore.cli.main import main

sys.exit(main())
