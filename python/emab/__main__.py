"""``python -m emab`` is the command ``emab``."""

from emab._command import main

main()
