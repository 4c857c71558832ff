"""The command ``emab`` of the wheel."""

import signal
import sys

from emab._emab import command


def main() -> None:
    """Run the command with the arguments of this process."""
    # The command handles Ctrl-C itself and writes a checkpoint. Python's handler would run only after the command.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(command(["emab", *sys.argv[1:]]))
