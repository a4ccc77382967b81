"""Drives one erasure from step to step; every step may be repeated in any state a crash left."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from consumers.purger import book, lines
from consumers.purger.block import Ends, block
from consumers.purger.expiry.steps import Expiry
from consumers.purger.faults import passing
from consumers.purger.narrow.steps import CACHED, Narrow
from consumers.purger.planning import Found, counted, counting, digest_of
from consumers.purger.proof import Notary, next_look
from consumers.purger.round import Round, renewing
from consumers.purger.tenant import block_all, many
from schemas.eraser import Eraser, Line, Scope
from schemas.errors import TransientError, UnknownOutcome
from schemas.words import ErasureState, LineStatus, OwnKind, SelectorKind
from stores.database import Connection, translate
from stores.vault import Vault

T = TypeVar("T")

logger = logging.getLogger(__name__)

_WORKING = (
    ErasureState.BLOCKED,
    ErasureState.ERASING,
    ErasureState.PARTIAL,
    ErasureState.NEEDS_HUMAN,
)
_SHORTEST, _LONGEST = 1.0, 60.0
_UNDER_WAY = 0.1
"""Seconds between two looks at how far the pipeline has come."""


@dataclass(frozen=True, slots=True)
class Saga:
    """All that the steps need.

    ``session`` is the name under which the connection holds erasures; ``erasers`` are in order, keys after what they
    open; ``some`` are those of a narrow selector.
    """

    conn: Connection
    session: str
    vault: Vault
    erasers: Sequence[Eraser]
    some: Sequence[Eraser]
    narrow: Narrow
    expiry: Expiry
    notary: Notary
    round: Round
    ends: Ends

    def block_now(self, erasure: bytes | book.Held, heir: str | None = None) -> book.Held | None:
        """Plan and block a request that was just accepted; what fails is taken up by `advance`.

        Returns:
            What the session ``heir`` holds now and is to go on with; None where nobody does.
        """
        held = self._taken(erasure)
        return self._guarded(held, partial(self._until_blocked, heir)) if held else None

    def advance(self, erasure: bytes | book.Held) -> None:
        """Take an erasure as far as it goes now."""
        held = self._taken(erasure)
        if held:
            self._guarded(held, self._all_steps)

    def _taken(self, erasure: bytes | book.Held) -> book.Held | None:
        """What this session holds already needs not be taken."""
        if isinstance(erasure, book.Held):
            return erasure if erasure.owner == self.session else self._taken(erasure.id)
        with translate():
            return book.take(self.conn, erasure)

    def _guarded(self, held: book.Held, step: Callable[[book.Held], T]) -> T | None:
        try:
            with translate():
                return step(held)
        except (TransientError, UnknownOutcome) as error:
            logger.warning("erasure %s waits: %s", held.id.hex(), error)
            with translate():
                book.release(self.conn, held, _pause(held.attempts), held.attempts + 1)
            return None

    def _until_blocked(self, heir: str | None, held: book.Held) -> book.Held | None:
        handed = self._begin(held, heir) if self._ready(held) else None
        if handed is None:
            # Changes nothing where it is let go already.
            book.release(self.conn, held, 0, 0)
        return handed

    def _all_steps(self, held: book.Held) -> None:
        if held.kind is OwnKind.EXPIRY and held.state in (ErasureState.PLANNED, *_WORKING):
            self.expiry.advance(held, self._prove, self._conclude)
            return
        if held.state is ErasureState.PLANNED:
            if not self._ready(held):
                return
            self._begin(held)
            taken = book.take(self.conn, held.id)
            if taken is None:
                return
            held = taken
        if held.state in _WORKING:
            self._erase(held)
        elif held.state in (ErasureState.VERIFIED, ErasureState.FINAL):
            self._watch(held)

    def _ready(self, held: book.Held) -> bool:
        """Plan what Block will not count itself; False where it is begun, refused, or a grace period still runs."""
        if held.state is not ErasureState.PLANNED:
            return False
        if held.plan is None and not _counted_by_block(held) and not self._plan(held):
            return False
        if held.not_before is not None and held.not_before > datetime.now(UTC):
            wait = (held.not_before - datetime.now(UTC)).total_seconds()
            book.release(self.conn, held, wait, 0)
            return False
        return True

    def _begin(self, held: book.Held, heir: str | None = None) -> book.Held | None:
        """Block; gives what ``heir`` holds from then on, where there is one and it needs nothing else."""
        if held.kind is SelectorKind.TENANT:
            block_all(self.conn, self.vault, held, self.ends)
        elif held.kind is SelectorKind.SUBJECT:
            counting = partial(self._counting, held) if _counted_by_block(held) else None
            return block(self.conn, self.vault, held, self.ends, counting, heir)
        else:
            self.narrow.begin(held)
        return None

    def _plan(self, held: book.Held) -> bool:
        """Write down what there is; False where that is not what the dry run showed."""
        counts, digest = self._planned(held)
        book.set_plan(self.conn, held, counts, digest)
        passing("planned")
        if held.expected_digest in (None, digest):
            return True
        logger.warning("erasure %s: the plan has changed since its dry run", held.id.hex())
        book.refuse_plan(self.conn, held)
        return False

    def _counting(self, held: book.Held, handle: bytes | None, epoch: int) -> Callable[[], Found]:
        # Keys first: the vault cannot be read for the moment in which the block writes its fence there.
        erasers = sorted(self.erasers, key=lambda eraser: eraser.name != "vault")
        return counting(self.round.pool, erasers, replace(held.scope(), handle=handle, epoch=epoch))

    def _planned(self, held: book.Held) -> tuple[dict[str, int], str]:
        scope = self._as_it_stands(held)
        if lines.is_whole(held.kind):
            return counted(self._of(held), scope)
        counts = self.narrow.estimate(held, scope.handle)
        return counts, digest_of(counts, scope)

    def _as_it_stands(self, held: book.Held) -> Scope:
        """The scope before Block: the handle is still the subject's own."""
        row = self.conn.execute(book.SQL.subject_now, (held.subject,)).fetchone()
        handle, epoch, _ = row or (None, 0, {})
        return replace(held.scope(), handle=handle, epoch=epoch)

    def _erase(self, held: book.Held) -> None:
        through = True
        if not lines.is_whole(held.kind):
            through = self.narrow.waited(held)
            if through:
                self.narrow.again(held)
        words: dict[str, int] = {}

        def begin() -> book.Known:
            known = self._begun(held)
            words.update(known.words)
            return known

        made = self._all(held, held.known, begin)
        if not through:
            book.release(self.conn, held, _UNDER_WAY, 0)
            return
        if CACHED & words.keys():
            # The cache was emptied beside the cut, which alone knows what groups' copies held.
            [cache] = (one for one in self.erasers if one.name == "redis")
            made = self.round.after(cache, held.scope(), made, words)
        passing("observed")
        self._conclude(held, self._proven(held, made, words))

    def _prove(self, held: book.Held) -> list[Line]:
        """Run every eraser over what was cut, and give its line."""
        known = book.known(self.conn, held.id)
        return self._all(held, known, lambda: known)

    def _all(self, held: book.Held, known: book.Known, begin: Callable[[], book.Known]) -> list[Line]:
        renew = renewing(lambda: book.take(self.conn, held.id), book.LEASE_SECONDS / 4)
        return self.round.all(self._of(held), held.scope(), known, begin, renew)

    def _begun(self, held: book.Held) -> book.Known:
        """Say that it is being erased, and cut what the person said in others' groups."""
        apart = lines.is_whole(held.kind) and held.subject is not None
        with self.conn.pipeline():
            if held.state not in (ErasureState.ERASING, ErasureState.NEEDS_HUMAN):
                book.set_state(self.conn, held, ErasureState.ERASING)
            groups = self.narrow.groups_of(held).fetchall() if apart else []
        known = held.known
        if groups:
            self.narrow.words_of(held, [row[0] for row in groups])
            known = replace(book.known(self.conn, held.id), planned=held.known.planned)
        if apart:
            passing("words")
        return known

    def _of(self, held: book.Held) -> Sequence[Eraser]:
        if held.kind is SelectorKind.TENANT:
            return many(self.erasers, self.conn, self.vault)
        if held.kind is OwnKind.EXPIRY:
            return self.expiry.erasers
        return self.erasers if held.kind is SelectorKind.SUBJECT else self.some

    def _proven(self, held: book.Held, made: list[Line], words: Mapping[str, int]) -> list[Line]:
        """What the end of the key adds, where it ended, for what lay under it."""
        if not lines.is_whole(held.kind):
            return made
        return lines.with_key_gone(lines.with_words(made, words))

    def _conclude(self, held: book.Held, made: Sequence[Line]) -> None:
        state = lines.state_of(made)
        late = held.deadline <= datetime.now(UTC)
        if state is ErasureState.NEEDS_HUMAN:
            logger.error("erasure %s: an owner refuses or is late", held.id.hex())
            if held.state is state and book.told(self.conn, held.id) == lines.said(made):
                self._again(held, made, _LONGEST)
                return
        if state is not ErasureState.PARTIAL:
            self.notary.issue(self.conn, held, made, state)
        elif late and held.state is not ErasureState.NEEDS_HUMAN:
            # The deadline is a promise: what is still open is said, signed, and tried on.
            logger.error("erasure %s has passed its deadline", held.id.hex())
            self.notary.issue(self.conn, held, made, ErasureState.NEEDS_HUMAN)
        else:
            if held.state is not ErasureState.NEEDS_HUMAN:
                book.set_state(self.conn, held, state)
            self._again(held, made, _pause(held.attempts))

    def _again(self, held: book.Held, made: Sequence[Line], seconds: float) -> None:
        """Keep what was seen, and let go for a while."""
        book.save_lines(self.conn, held.id, made)
        book.release(self.conn, held, seconds, held.attempts + 1)

    def _watch(self, held: book.Held) -> None:
        """Look again: erase what came back, and let a newer receipt say what has risen."""
        scope = held.scope()
        known = held.known
        made: list[Line] = []
        for eraser in self._of(held):
            seen = self.round.look(eraser, scope, known)
            if any(line.status is LineStatus.OPEN and line.reason == "left_over" for line in seen):
                logger.error("erasure %s: %s came back", scope.erasure.hex(), eraser.name)
                seen = self.round.one(eraser, scope, known)
            elif any(map(lines.can_rise, seen)):
                seen = self.round.one(eraser, scope, known)
            made += seen
        made = self._proven(held, made, known.words)
        if any(line.reason in ("unavailable", "failed", "misconfigured") for line in made):
            book.release(self.conn, held, _LONGEST, held.attempts + 1)
            return
        told = book.told(self.conn, held.id)
        state = lines.state_of(made)
        if state is ErasureState.PARTIAL:
            book.release(self.conn, held, _pause(held.attempts), held.attempts + 1)
        elif told == lines.said(made) and held.state in (state, ErasureState.FINAL):
            looked = next_look(made, held.state, datetime.now(UTC), held.blocked_at)
            book.put_off(self.conn, held, looked)
        else:
            self.notary.issue(self.conn, held, made, state)


def _counted_by_block(held: book.Held) -> bool:
    """A plan that nobody has seen before is counted under the lock of the block."""
    return held.plan is None and held.kind is SelectorKind.SUBJECT and held.expected_digest is None


def _pause(attempts: int) -> float:
    return min(_LONGEST, _SHORTEST * 2.0 ** min(attempts, 10))
