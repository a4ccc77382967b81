"""From an exception to one line on standard error and an exit status."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from schemas.errors import ConfigurationError, ObelusError, TransientError
from schemas.settings import NoStack

DONE, NO, WRONG_USE, UNREACHABLE, BUG = 0, 1, 2, 3, 70
"""Exit statuses; the last one is a fault of ours and none of the contract's answers."""

_UNREACHABLE = {
    # By package and class name, so that none of the packages is imported for it.
    ("psycopg", "OperationalError"),
    ("psycopg_pool", "PoolTimeout"),
    ("redis", "ConnectionError"),
    ("redis", "TimeoutError"),
    ("cimpl", "KafkaException"),
    ("httpx", "ConnectError"),
    ("httpx", "ConnectTimeout"),
    ("httpx", "ReadTimeout"),
    ("qdrant_client", "ResponseHandlingException"),
    ("builtins", "ConnectionRefusedError"),
    ("builtins", "ConnectionResetError"),
}


def guarded(command: Callable[[], Any]) -> int:
    """Run a command; give its exit status, whatever happens in it."""
    try:
        return command() or DONE
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else NO
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader went away, as `| head` does; nobody is left to be told.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        return _status(error)


def _status(error: Exception) -> int:
    if hasattr(error, "exit_code") and hasattr(error, "format_message"):
        error.show()  # type: ignore[attr-defined] # the command line parser's own error
        return WRONG_USE
    if type(error).__name__ in ("Exit", "Abort"):
        return int(getattr(error, "exit_code", NO))
    if isinstance(error, NoStack | TransientError) or _is_unreachable(error):
        return _say(str(error), UNREACHABLE)
    if isinstance(error, ConfigurationError):
        return _say(str(error), WRONG_USE)
    if isinstance(error, ObelusError):
        return _say(str(error), NO)
    if os.environ.get("OBELUS_DEBUG"):
        raise error
    return _say(_located(error), BUG)


def _located(error: Exception) -> str:
    """Tell what and where, but not the message: it may quote what somebody said."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    where = [f"  {frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]
    what = str(error) if isinstance(error, ImportError) else type(error).__name__
    return "\n".join([f"unexpected fault: {what}; OBELUS_DEBUG=1 shows all of it", *where])


def _is_unreachable(error: Exception) -> bool:
    kinds = type(error).__mro__
    return any((kind.__module__.partition(".")[0], kind.__name__) in _UNREACHABLE for kind in kinds)


def _say(message: str, status: int) -> int:
    print(f"obelus: {message.strip()}", file=sys.stderr)
    return status
