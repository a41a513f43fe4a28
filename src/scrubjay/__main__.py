"""`python -m scrubjay` is the command line."""

import sys

from scrubjay.cli.main import main

sys.exit(main())
