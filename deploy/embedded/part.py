"""What every embedded part can do, and how several are started side by side."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from deploy.embedded.ports import Ports
from deploy.embedded.process import Child, Command, tail
from schemas.errors import PartUnavailable

Progress = Callable[[str], None]
READY_WITHIN = 60.0
"""Twenty seconds are the aim on two idle cores; a busy machine is no reason to give up."""
_POLL = 0.05


@dataclass(frozen=True)
class Place:
    """Where a part lives."""

    home: Path
    ports: Ports

    def folder(self, name: str) -> Path:
        """A folder of the home, made if need be."""
        path = self.home / name
        path.mkdir(parents=True, exist_ok=True)
        return path


class Part(ABC):
    """One embedded server: prepared, started, observed until it answers, stopped.

    `prepare` may be slow and runs beside other parts; it starts nothing that stays. Everything
    else is called from the main thread.
    """

    name: str

    def __init__(self, place: Place) -> None:
        """Keep the place; touch nothing yet."""
        self.place = place
        self.child: Child | None = None

    @property
    def log(self) -> Path:
        """The file with the part's own output."""
        return self.place.home / "logs" / f"{self.name}.log"

    @property
    @abstractmethod
    def address(self) -> str:
        """How clients reach it."""

    @abstractmethod
    def prepare(self, progress: Progress) -> None:
        """Download, create folders, write configuration; repeatable, interruptible."""

    @abstractmethod
    def command(self) -> Command:
        """What to run once prepared."""

    @abstractmethod
    def answers(self) -> bool:
        """Ask once, briefly, whether it does its work."""

    def spawn(self) -> None:
        """Start the prepared part."""
        self.child = Child(self.command(), self.log)

    def alive(self) -> bool:
        """Whether its process runs."""
        return self.child is not None and self.child.alive()

    def start(self, progress: Progress = lambda _: None) -> str:
        """Prepare, start and await this one part; give its address."""
        start_all([self], progress)
        return self.address

    def stop(self, timeout: float = 20.0) -> None:
        """End it in good order, or else by force."""
        if self.child is not None:
            self.child.terminate()
            self.child.wait(timeout)

    def failure(self, why: str) -> PartUnavailable:
        """Make the error that names the part and shows its log's end."""
        shown = tail(self.log) or "(its log is empty)"
        return PartUnavailable(f"{self.name} {why}; the end of {self.log}:\n{shown}")


def start_all(parts: Sequence[Part], progress: Progress) -> None:
    """Start parts side by side and return when each answers.

    Raises:
        PartUnavailable: one could not; the others are stopped again.
    """
    try:
        _prepare(parts, progress)
        for part in parts:
            part.spawn()
        _await(parts, progress)
    except BaseException:
        stop_all(parts)
        raise


def stop_all(parts: Sequence[Part], timeout: float = 20.0) -> None:
    """Ask all to stop at once, then wait; they do not need each other."""
    for part in reversed(parts):
        if part.child is not None:
            part.child.terminate()
    deadline = time.monotonic() + timeout
    for part in reversed(parts):
        if part.child is not None:
            part.child.wait(deadline - time.monotonic())


def _prepare(parts: Sequence[Part], progress: Progress) -> None:
    if not parts:
        return
    with ThreadPoolExecutor(len(parts)) as pool:
        jobs = {pool.submit(part.prepare, progress): part for part in parts}
        wait(jobs)
    for job, part in jobs.items():
        error = job.exception()
        if isinstance(error, OSError | ValueError):
            raise part.failure(f"could not be prepared ({error})") from error
        if error is not None:
            raise error


def _await(parts: Sequence[Part], progress: Progress) -> None:
    deadline = time.monotonic() + READY_WITHIN
    waiting = list(parts)
    while waiting:
        for part in list(waiting):
            if part.child is None or not part.child.alive():
                status = part.child.exit_status if part.child else None
                raise part.failure(f"ended with status {status} while starting")
            if part.answers():
                waiting.remove(part)
                progress(f"{part.name} is ready")
        if waiting and time.monotonic() > deadline:
            raise waiting[0].failure(f"did not answer within {READY_WITHIN:.0f} s")
        time.sleep(_POLL)
