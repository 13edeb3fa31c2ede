"""``python -m latentree`` is the command ``latentree``."""

import sys

from ._command_line import main

if __name__ == "__main__":
    sys.exit(main())
