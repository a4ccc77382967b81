"""Cuts inbound logs behind a fence, where Obelus is their only reader (docs/decisions, exclusive turns log).

    who needs what ─▶ all past the fence? ─▶ roll marker ─▶ DeleteRecords up to it, or to who is behind
                       not all: DeleteRecords up to the first of them

Whatever is done here may be done again, by two processes at once too: a log's beginning only rises.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import KafkaException, TopicPartition

from schemas.settings import Settings
from stores.database import Connection, columns, translate
from streams.client import Admin, unavailable
from streams.fence import INBOUND
from streams.holders import Holder, Holders, Kind, limit
from streams.offsets import LogEnd, Place, log_ends
from streams.rolling import restore, roll
from streams.segments import SegmentFiles, visible

_TIMEOUT_SECONDS = 10.0
_LOOKS, _PAUSE_SECONDS = 5, 0.1
"""How long readers are given to pass the marker: half a second, then the next look goes on."""
_NUMBERS = "SELECT no, topic_id FROM logs WHERE no = ANY(%s::smallint[])"
_REMEMBER = """
INSERT INTO log_cuts (log, part, upto)
SELECT l.no, c.part, c.upto FROM unnest(%s::text[], %s::int[], %s::bigint[]) AS c(topic_id, part, upto)
JOIN logs l ON l.topic_id = c.topic_id
ON CONFLICT (log, part) DO UPDATE SET upto = GREATEST(log_cuts.upto, EXCLUDED.upto), at = now()
"""


@dataclass(frozen=True, slots=True)
class Stretch:
    """What a fence means in one partition that exists.

    Attributes:
        end: the partition with its first offset and its end.
        fence: the offset before which nothing of the subject may be.
        clean: whether no segment file can hold an offset below it; None where files are not to be seen.
    """

    end: LogEnd
    fence: int
    clean: bool | None

    @property
    def place(self) -> Place:
        """Topic and partition."""
        return self.end.topic, self.end.part

    @property
    def left(self) -> int:
        """Offsets below the fence that the log still has, whoever's they are."""
        return max(0, self.fence - self.end.low)


class Cutter:
    """Looks and cuts; one a thread."""

    def __init__(
        self, settings: Settings, admin: Admin, connection: Callable[[], Connection], holders: Holders
    ) -> None:
        """Take the clients; nothing is asked yet."""
        self._settings = settings
        self._admin = admin
        self._connection = connection
        self._holders = holders
        self._files: SegmentFiles | None = None
        self._asked = False

    def look(self, fence: Mapping[str, int]) -> list[Stretch]:
        """Give every partition that the fence names; a log that is no more is left out, and so are its records.

        Args:
            fence: ``{"<log>/<part>": offset}``.

        Raises:
            PartUnavailable: broker or PostgreSQL does not answer.
        """
        offsets = self._by_id(fence)
        ends = [end for end in log_ends(self._admin, INBOUND) if (end.topic_id, end.part) in offsets]
        files = self.files()
        found = []
        for end in ends:
            reached = offsets[end.topic_id, end.part]
            clean = files.clean(end.topic, end.topic_id, end.part, reached) if files else None
            found.append(Stretch(end, reached, clean))
        return found

    def holding(self, stretches: Sequence[Stretch]) -> list[Holder]:
        """Give who needs something below the fence.

        Raises:
            PartUnavailable: somebody who must be asked does not answer.
        """
        fences = {stretch.place: stretch.fence for stretch in stretches if stretch.left}
        holders = self._holders([stretch.end for stretch in stretches])
        return [h for h in holders if any(at < fences.get(place, 0) for place, at in h.needs.items())]

    def cut(self, fence: Mapping[str, int]) -> None:
        """Delete what lies below the fence, as far as everybody allows.

        Raises:
            PartUnavailable: a part does not answer; nothing is lost by trying again.
        """
        wanted = [stretch for stretch in self.look(fence) if stretch.left or stretch.clean is False]
        if not wanted:
            return
        restore(self._admin, {stretch.end.topic for stretch in wanted})
        limits = self._limits(wanted)
        free = [stretch for stretch in wanted if limits[stretch.place] >= stretch.fence]
        targets = {s.place: limits[s.place] for s in wanted if limits[s.place] < s.fence}
        targets |= self._boundaries(free)
        self._delete(targets, wanted)

    def files(self) -> SegmentFiles | None:
        """The broker's files, where they are to be seen from here."""
        if not self._asked:
            self._files, self._asked = visible(self._admin), True
        return self._files

    def _by_id(self, fence: Mapping[str, int]) -> dict[tuple[str, int], int]:
        places = {tuple(map(int, place.split("/"))): offset for place, offset in fence.items()}
        with translate():
            rows = self._connection().execute(_NUMBERS, (sorted({log for log, _ in places}),)).fetchall()
        ids: dict[int, str] = dict(rows)
        return {(ids[log], part): offset for (log, part), offset in places.items() if log in ids}

    def _limits(self, stretches: Sequence[Stretch]) -> dict[Place, int]:
        holders = self._holders([stretch.end for stretch in stretches])
        return {s.place: limit(holders, s.place, s.end.high) for s in stretches}

    def _boundaries(self, free: Sequence[Stretch]) -> dict[Place, int]:
        """Where segments end behind the fence, made so by markers where they do not yet, and passed by all."""
        found = {stretch.place: self._boundary(stretch) for stretch in free}
        missing = [place for place, boundary in found.items() if boundary is None]
        marked = roll(self._settings, self._admin, missing) if missing else {}
        wanted = {place: marked[place] if boundary is None else boundary for place, boundary in found.items()}
        limits: dict[Place, int] = {}
        for _ in range(_LOOKS if free else 0):
            limits = self._limits(free)
            if all(limits[place] >= boundary for place, boundary in wanted.items()):
                break
            time.sleep(_PAUSE_SECONDS)
        return {place: min(limits[place], boundary) for place, boundary in wanted.items()}

    def _boundary(self, stretch: Stretch) -> int | None:
        files, end = self.files(), stretch.end
        return files.boundary(end.topic, end.topic_id, end.part, stretch.fence) if files else None

    def _delete(self, targets: Mapping[Place, int], stretches: Sequence[Stretch]) -> None:
        ends = {stretch.place: stretch.end for stretch in stretches}
        targets = {place: offset for place, offset in sorted(targets.items()) if offset > ends[place].low}
        if not targets:
            return
        rows = [(ends[place].topic_id, ends[place].part, offset) for place, offset in targets.items()]
        with translate():
            # Before it happens: a cut that nobody remembers would look like a loss.
            self._connection().execute(_REMEMBER, columns(rows, 3))
        try:
            asked = [TopicPartition(*place, offset) for place, offset in targets.items()]
            for future in self._admin.delete_records(asked, request_timeout=_TIMEOUT_SECONDS).values():
                future.result(_TIMEOUT_SECONDS)
        except KafkaException as error:
            raise unavailable(error) from error


def reason_of(holders: Sequence[Holder]) -> str | None:
    """The word for why a log cannot be cut now; None where only live readers have to come along."""
    kinds = {holder.kind for holder in holders}
    return next((kind.value for kind in (Kind.DEAD_LETTER, Kind.IDLE_GROUP, Kind.BACKUP) if kind in kinds), None)


def told(holders: Sequence[Holder]) -> str:
    """Who holds a log back, idle groups by name."""
    parts = []
    for kind, words in ((Kind.DEAD_LETTER, "an open dead letter"), (Kind.BACKUP, "a backup that can be restored")):
        if any(holder.kind is kind for holder in holders):
            parts.append(words)
    for kind, words in ((Kind.IDLE_GROUP, "idle group"), (Kind.READER, "reader on its way")):
        parts += [f"{words} {name}" for name in sorted(holder.name for holder in holders if holder.kind is kind)]
    return "held back by " + ", ".join(parts) if parts else "about to be cut"
