"""Becomes another program that cannot outlive the process that started it.

Run as a script: ``leash.py PARENT SIGNAL USER COMMAND...``. The kernel sends SIGNAL to the program
when PARENT dies in whatever way, SIGKILL included. USER is a user name, or `-` to stay who we are.

The kernel ties this to the *thread* that started us, so the supervisor starts everything from its
main thread. It also forgets it when credentials change, so the user is changed first.
"""

from __future__ import annotations

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1


def _become(user: str) -> None:
    import pwd

    entry = pwd.getpwnam(user)
    os.setgroups([])
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)


def main(arguments: list[str]) -> None:
    """Take the user's identity, tie the knot, turn into the command."""
    parent, signal_number, user, *command = arguments
    if user != "-":
        _become(user)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_PR_SET_PDEATHSIG, int(signal_number), 0, 0, 0)
        if os.getppid() != int(parent):  # it died before the knot was tied
            os._exit(1)
    # The command is the supervisor's own, never a user's text.
    os.execvp(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
