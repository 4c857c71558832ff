"""The command ``emab``, as the wheel brings it."""

import signal
import sys

from emab._emab import command


def main() -> None:
    """Run the command with the arguments of this process."""
    # The command catches Ctrl-C itself, to leave a checkpoint; Python's own handler would wait for it to end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(command(["emab", *sys.argv[1:]]))
