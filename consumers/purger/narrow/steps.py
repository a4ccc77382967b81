"""The two passes of a narrow selector, and the wait between them.

The first pass takes what is there; what was said before the request may still be on its way through
the pipeline, so a second pass follows once extractor, gate and resolver are past that point.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import psycopg
from psycopg.types.json import Jsonb

from consumers.extractor.ids import turn_id
from consumers.purger import book
from consumers.purger.block import Ends, tell_changes
from consumers.purger.faults import passing
from consumers.purger.narrow.cut import cut, left
from consumers.purger.narrow.items import SQL, Items, answers_with, find, follow, of_author
from consumers.settling.settle import Rules
from schemas import datamap
from schemas.events import Selector
from schemas.topics import CANDIDATES, DECISIONS, TURNS
from stores.copies import copies_of_author
from stores.database import Connection
from stores.sealing import SubjectKeys
from stores.subjects import load_by_handle, lock_refs
from stores.vault import Vault
from streams.client import Admin
from streams.fence import ends_of, passed

_WINDOWS, _ANSWERS = datamap.BY_NAME["redis.windows"].place, datamap.BY_NAME["redis.cache"].place
CACHED = frozenset({_WINDOWS, _ANSWERS})
"""By these a person's words count the copies of groups that hold them."""
_STAGES = (("extractor", TURNS), ("gate", CANDIDATES), ("resolver", DECISIONS))


@dataclass(frozen=True, slots=True)
class Narrow:
    """What the passes need besides the saga's own."""

    conn: Connection
    vault: Vault
    admin: Admin
    rules: Rules
    ends: Ends

    def begin(self, held: book.Held) -> None:
        """First pass: tombstones, cut, and the ends that the pipeline must pass."""
        reached = self.ends()
        turns = _of_topic(self.conn, reached, TURNS)
        self._pass(held, {"stage": 0, "ends": turns}, reached)
        passing("blocked")

    def again(self, held: book.Held) -> None:
        """Second pass: what came through meanwhile."""
        self._pass(held, None, None)
        passing("passed_again")

    def waited(self, held: book.Held) -> bool:
        """Go on from stage to stage; True once the last consumer is past its end."""
        row = self.conn.execute(SQL.items, (held.id,)).fetchone()
        items, waits = row or (None, None)
        while waits is not None:
            consumer, _ = _STAGES[waits["stage"]]
            if not passed(self.conn, self.admin, consumer, waits["ends"]):
                return False
            following = waits["stage"] + 1
            waits = None
            if following < len(_STAGES):
                ends = ends_of(self.conn, self.admin, _STAGES[following][1])
                waits = {"stage": following, "ends": ends}
            self._keep(held, items, waits)
        return True

    def groups_of(self, held: book.Held) -> psycopg.Cursor[tuple[bytes]]:
        """Ask for the handles of others' groups in which an erased person spoke."""
        return self.conn.execute(SQL.groups_of_author, {"ref": held.subject})

    def words_of(self, held: book.Held, groups: Iterable[bytes]) -> None:
        """Cut what an erased person said in others' groups, group by group (W11)."""
        for handle in groups:
            self._in_group(held, handle)

    def _in_group(self, held: book.Held, handle: bytes) -> None:
        group = load_by_handle(self.conn, [handle]).get(handle)
        if group is None or held.subject is None:
            return
        with book.durable(self.conn):
            lock_refs(self.conn, exclusive=[group.lock])
            if handle not in load_by_handle(self.conn, [handle]):
                return
            self._departing(held)
            keys = self.vault.data_keys([handle])[handle]
            items = of_author(self.conn, keys, held.subject)
            # The edges go with the memories; a memory that stays may have been shown in this person's words.
            answers = answers_with(self.conn, handle, items.memories | items.touched)
            done = cut(self.conn, keys, items, group.epoch, self.rules)
            tell_changes(self.conn, done.changed)
            kept = self._kept(held)
            counts = Counter(kept["counts"]) + done.counts
            # Windows and kept answers go with the cache's round, and were sealed under the group's key as well.
            spoken = copies_of_author(self.conn, held.subject, held.id)
            windows = {place[2] for place in spoken.windows if place[0] == handle}
            ids = Items.from_json(kept["ids"])
            ids.add(Items(cached=answers, windows=windows, handles={handle} if answers or windows else set()))
            counts |= {_WINDOWS: len(ids.windows), _ANSWERS: len(ids.cached)}
            self._keep(held, {"ids": ids.as_json(), "counts": dict(counts)}, None)

    def estimate(self, held: book.Held, handle: bytes | None) -> dict[str, int]:
        """Count, by map entry, what the first pass would take now."""
        _, selector = self._asked(held)
        return estimated(self.conn, self.vault, handle, selector)

    def _departing(self, held: book.Held) -> None:
        """What this transaction deletes departs by this erasure: artefacts made from it follow, late ones too."""
        self.conn.execute(SQL.departing, (held.id.hex(),))

    def _kept(self, held: book.Held) -> dict[str, Any]:
        row = self.conn.execute(SQL.items, (held.id,)).fetchone()
        return (row[0] if row else None) or {"ids": {}, "counts": {}}

    def _pass(self, held: book.Held, waits: Mapping[str, Any] | None, fence: Mapping[str, int] | None) -> None:
        tenant, selector = self._asked(held)
        with book.durable(self.conn):
            lock_refs(self.conn, exclusive=[held.lock or 0])
            row = self.conn.execute(book.SQL.subject_now, (held.subject,)).fetchone()
            handle, epoch, _ = row or (None, 0, {})
            kept = self._kept(held)
            if fence is not None:
                book.set_blocked(self.conn, held, (handle, epoch), fence)
            if handle is not None:
                self._departing(held)
                kept = self._cut(handle, epoch, kept, tenant, selector)
            self._keep(held, kept, waits)
            passing("cut")

    def _cut(
        self, handle: bytes, epoch: int, kept: Mapping[str, Any], tenant: str, selector: Selector
    ) -> dict[str, Any]:
        keys = self.vault.data_keys([handle])[handle]
        known = Items.from_json(kept["ids"])
        fresh = find(self.conn, keys, selector)
        self._entomb(tenant, selector, keys, fresh.messages)
        known.add(fresh)
        known.touched -= known.memories
        # A recall that had read a memory before an earlier pass may have left its trace after it.
        follow(self.conn, [handle], known)
        done = cut(self.conn, keys, known, epoch, self.rules)
        tell_changes(self.conn, done.changed)
        # An intent may have been committed for a memory that was cut in an earlier pass.
        late = self.conn.execute(SQL.points, ([handle], list(known.memories))).fetchall()
        known.points |= {row[0] for row in late}
        counts = Counter(kept["counts"]) + done.counts
        return {"ids": known.as_json(), "counts": dict(counts)}

    def _entomb(self, tenant: str, selector: Selector, keys: SubjectKeys, messages: Iterable[str]) -> None:
        """The vault first: what was erased is recognised when it comes back, whatever happens next."""
        lookup = self.vault.lookup(tenant)
        messages = list(messages)
        if lookup is not None and messages:
            subject = selector.subject or ""
            refs = [lookup.tombstone("message", subject, message) for message in messages]
            # By their ids too: a stored turn that stays is read again on `pre_compress`.
            refs += [turn_id(keys, message) for message in messages]
            self.vault.add_tombstones(refs)
        passing("entombed")

    def _asked(self, held: book.Held) -> tuple[str, Selector]:
        request = self.vault.request(held.id)
        if request is None:
            raise RuntimeError("the vault has lost a deletion request")
        body = orjson.loads(request.body)
        return body["tenant"], Selector.model_validate(body["selector"])

    def _keep(self, held: book.Held, items: Any, waits: Mapping[str, Any] | None) -> None:
        values = {
            "id": held.id,
            "owner": held.owner,
            "items": Jsonb(items),
            "waits": Jsonb(waits) if waits is not None else None,
        }
        self.conn.execute(SQL.set_items, values)


def estimated(conn: Connection, vault: Vault, handle: bytes | None, selector: Selector) -> dict[str, int]:
    """Count, by map entry, what a selector would take; changes nothing."""
    keys = vault.data_keys([handle], missing_ok=True).get(handle) if handle else None
    items = find(conn, keys, selector) if keys else Items()
    counts = left(conn, [handle or b""], items)
    found = {
        entry.name: counts.get(entry.place, 0)
        for entry in datamap.of("postgres")
        if entry.name != "postgres.security_events"
    }
    points = len(items.points)
    row = conn.execute(SQL.artefacts_of, ([*items.memories, *items.turns],)).fetchone()
    artefacts, edges = row or (0, 0)
    outside = {"owners.artefacts": artefacts, "postgres.derivations": edges}
    copies = {"redis.windows": len(items.windows)}
    return found | {"qdrant.memories": points, "postgres.vectors": points} | copies | outside


def _of_topic(conn: Connection, ends: Mapping[str, int], topic: str) -> dict[str, int]:
    rows = conn.execute("SELECT no FROM logs WHERE topic = %s", (topic,)).fetchall()
    numbers = {str(row[0]) for row in rows}
    return {place: end for place, end in ends.items() if place.split("/")[0] in numbers}
