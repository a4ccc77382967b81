"""One recall: who, what the index proposes, what the truth vouches for, ranked, packed, traced (design, section 8).

Whatever is slow or broken costs memory, never an error (R8) and never a leak: without PostgreSQL's word nothing leaves.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
from psycopg_pool import ConnectionPool

from policy.document import Policy
from recall.breaker import Breaker
from recall.conditions import Situation
from recall.items import conflict_of, item_of, sources_of
from recall.model import Answer, Drop, Kept, Question, Ranked, Selection
from recall.pack import select
from recall.ranking import CALIBRATIONS, DEFAULT_CALIBRATION, rank
from recall.sessions import Windows
from recall.truth import Person, Truth, person, verify, write_trace, write_trace_again
from recall.usage import Usage
from recall.validity import lasts, valid
from schemas.errors import KeyMissing, SubjectMoved, TransientError, UnknownOutcome
from schemas.ids import within
from schemas.words import Sensitivity
from stores.copies import Recorded
from stores.database import Connection, translate
from stores.embeddings import Embedder
from stores.memories import namespace_hash
from stores.rotation import turn
from stores.sealing import SubjectKeys
from stores.vault import Vault
from stores.vector_points import Hit
from stores.vectors import VectorIndex

if TYPE_CHECKING:
    from recall.cached import AnswerCache

log = logging.getLogger(__name__)

# The truth, ranking and overrides drop some of what the index proposes.
OVERFETCH = 3
LONGEST = timedelta(seconds=60)
"""How long an answer may be kept: a question that is asked again is asked soon, and as long may what nobody can take
away lie in Redis, unreadable."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a recall talks to."""

    pool: ConnectionPool[Connection]
    vault: Vault
    index: VectorIndex
    embedder: Embedder
    policy: Policy
    windows: Windows | None = None
    cache: AnswerCache | None = None


class Recall:
    """Answers questions; safe to call from several threads."""

    def __init__(self, parts: Parts, count: Callable[[str], None] = lambda outcome: None) -> None:
        """Take the parts, and what counts outcomes (`answered`, `empty`, `degraded`)."""
        self._parts = parts
        self._count = count
        self._calibration = CALIBRATIONS.get(parts.embedder.name, DEFAULT_CALIBRATION)
        self._search = Breaker()
        self._embed = Breaker()
        self._truth = Breaker()
        self.usage = Usage(parts.pool)

    def answer(self, question: Question) -> Answer:
        """Answer with what is known, or with nothing and ``degraded``; never raises."""
        if self._truth.open:
            return self._counted(Answer(degraded=True))
        try:
            with translate(), self._parts.pool.connection() as connection:
                answer = self._ask(connection, question)
        except Exception as error:
            # The message may carry what was asked or remembered: only its class is shown.
            log.warning("recall degraded: %s", type(error).__name__)
            if _is_of_the_part(error):
                self._truth.failed()
            return self._counted(Answer(degraded=True))
        self._truth.succeeded()
        return self._counted(answer)

    def close(self) -> None:
        """Close the parts."""
        for part in (self._parts.windows, self._parts.cache):
            if part is not None:
                part.close()
        self._parts.index.close()
        self._parts.pool.close()
        self._parts.vault.close()

    def warm(self) -> None:
        """Load what is slow the first time: the embedding model."""
        self._parts.embedder.embed_query("warm")

    def late(self) -> None:
        """A recall was given up by its asker; when that goes on, the next ones are not even tried for a while."""
        self._truth.failed()
        self._count("late")

    def _counted(self, answer: Answer) -> Answer:
        self._count("degraded" if answer.degraded else "answered" if answer.items else "empty")
        return answer

    def _ask(self, connection: Connection, question: Question) -> Answer:
        lookup = self._parts.vault.lookup(question.tenant)
        if lookup is None:
            return Answer()
        conversation = question.conversation and lookup.conversation(question.subject, question.conversation)
        who = person(connection, lookup.subject(question.subject), conversation or None)
        if who is None or not who.readable:
            return Answer()
        keys = self._parts.vault.data_keys([who.handle])[who.handle]
        cache = self._parts.cache
        key = None if cache is None else cache.key(question, who, keys)
        if cache is None or key is None:
            return self._made(connection, question, lookup.tenant_ref, who, keys, None)[0]
        kept = cache.read(key, who, keys)
        if kept is not None:
            return self._again(connection, question, who, keys, kept)
        answer, made = self._made(connection, question, lookup.tenant_ref, who, keys, cache.entry(key))
        if made is not None:
            cache.keep(connection, key, who, keys, *made)
        return answer

    def _made(
        self,
        connection: Connection,
        question: Question,
        tenant_ref: bytes,
        who: Person,
        keys: SubjectKeys,
        entry: bytes | None,
    ) -> tuple[Answer, tuple[Kept, Recorded] | None]:
        """Make an answer, and what may be kept of it under an id."""
        hits = self._hits(question, tenant_ref, who, keys)
        if hits is None:
            return self._without_index(connection, question, who, keys), None
        truth = verify(connection, who, keys, hits, cleared(question.clearance))
        selection = self._select(question, truth)
        return self._pack(connection, question, who, keys, hits, truth, selection, entry)

    def _again(self, connection: Connection, question: Question, who: Person, keys: SubjectKeys, kept: Kept) -> Answer:
        """Give an answer that was kept, with a trace of its own."""
        trace = write_trace_again(
            connection,
            who,
            keys,
            ids=[bytes.fromhex(memory) for memory in kept.named],
            policy=self._parts.policy.version,
            index=self._index_version,
            body=trace_body(question, kept.seen | {"cached": True}),
        )
        if trace is None:
            return Answer()
        self.usage.add(bytes.fromhex(memory) for memory in kept.shown)
        return Answer(kept.items, kept.conflicts, trace=trace, session=self._session(question, who, keys))

    def _hits(self, question: Question, tenant_ref: bytes, who: Person, keys: SubjectKeys) -> list[Hit] | None:
        """What the index proposes, None where it or the embedder does not answer."""
        vector = self._guarded(self._embed, lambda: self._parts.embedder.embed_query(question.text))
        if vector is None:
            return None
        allowed = None if question.namespaces is None else [namespace_hash(keys, name) for name in question.namespaces]
        return self._guarded(
            self._search,
            lambda: self._parts.index.search(
                tenant_ref,
                who.handle,
                turn(keys, vector),
                limit=OVERFETCH * question.limit,
                sensitivities=cleared(question.clearance),
                namespaces=allowed,
            ),
        )

    def _guarded(self, breaker: Breaker, call: Callable[[], T]) -> T | None:
        if breaker.open:
            return None
        try:
            result = call()
        except Exception as error:
            log.warning("recall without the index: %s", type(error).__name__)
            if _is_of_the_part(error):
                breaker.failed()
            return None
        breaker.succeeded()
        return result

    def _select(self, question: Question, truth: Truth) -> Selection:
        moment = question.moment
        drops = list(truth.drops)
        open_for = []
        for memory in truth.known:
            if question.namespaces is not None and not any(
                within(memory.content.namespace, prefix) for prefix in question.namespaces
            ):
                drops.append(Drop(memory.id, "namespace"))
            elif not valid(memory, moment, asked=question.at is not None):
                drops.append(Drop(memory.id, "not_valid"))
            else:
                open_for.append(memory)
        situation = Situation.of((question.text, *question.statements), moment, question.scope)
        ranked = rank(
            open_for,
            question.text,
            situation,
            self._parts.policy,
            statements=question.statements,
            calibration=self._calibration,
        )
        selection = select(ranked, question.limit, question.token_budget)
        return Selection(selection.chosen, (*drops, *selection.drops), selection.conflicts)

    def _pack(
        self,
        connection: Connection,
        question: Question,
        who: Person,
        keys: SubjectKeys,
        hits: Sequence[Hit],
        truth: Truth,
        selection: Selection,
        entry: bytes | None,
    ) -> tuple[Answer, tuple[Kept, Recorded] | None]:
        sets = [*selection.conflicts, *(tuple(Ranked(m, 0.0, 0.0) for m in group) for group in truth.conflicted)]
        shown = [entry.memory.id for entry in selection.chosen]
        named = list(dict.fromkeys([*shown, *(entry.memory.id for group in sets for entry in group)]))
        seen = seen_of(hits, selection)
        looked_at = [*truth.known, *(memory for group in truth.conflicted for memory in group)]
        until = lasts(looked_at, min(who.now, question.moment), LONGEST)
        trace, rows, recorded = write_trace(
            connection,
            who,
            keys,
            ids=[bytes.fromhex(memory) for memory in named],
            policy=self._parts.policy.version,
            index=self._index_version,
            degraded=False,
            body=trace_body(question, seen),
            entry=entry,
            until=until,
        )
        if trace is None:
            # Blocked or paused since the rows were read: what was read is no longer theirs to give.
            return Answer(), None
        sources = sources_of(keys, rows)
        self.usage.add(bytes.fromhex(memory) for memory in shown)
        items = [item_of(entry, sources) for entry in selection.chosen]
        conflicts = [conflict_of(group, sources) for group in sets]
        kept = Kept(items, conflicts, shown, named, seen, until.timestamp())
        return Answer(items, conflicts, trace=trace, session=self._session(question, who, keys)), (kept, recorded)

    def _without_index(self, connection: Connection, question: Question, who: Person, keys: SubjectKeys) -> Answer:
        trace = write_trace(
            connection,
            who,
            keys,
            ids=[],
            policy=self._parts.policy.version,
            index=self._index_version,
            degraded=True,
            body=trace_body(question, seen_of((), Selection((), ()))),
        ).trace
        return Answer(degraded=True, trace=trace, session=self._session(question, who, keys))

    def _session(self, question: Question, who: Person, keys: SubjectKeys) -> Sequence[dict[str, Any]] | None:
        if question.conversation is None or self._parts.windows is None:
            return None
        return self._parts.windows.read(keys, who.epoch, question.conversation)

    @property
    def _index_version(self) -> str:
        return self._parts.embedder.name


def _is_of_the_part(error: Exception) -> bool:
    """True where the next asker would fare no better; one person's missing key must not silence everybody."""
    return isinstance(error, TransientError | UnknownOutcome) and not isinstance(error, KeyMissing | SubjectMoved)


def cleared(clearance: Sensitivity) -> list[str]:
    """Sensitivities that a clearance covers; secrets are never among what is stored."""
    words = [word.value for word in Sensitivity]
    return words[: words.index(clearance.value) + 1]


def trace_body(question: Question, seen: Mapping[str, Any]) -> bytes:
    """What a trace keeps, before it is sealed: the question, and what was seen."""
    asked = {
        "query": question.text,
        "statements": question.statements,
        "at": question.at,
        "scope": question.scope,
    }
    return orjson.dumps({**asked, **seen})


def seen_of(hits: Sequence[Hit], selection: Selection) -> dict[str, Any]:
    """What a recall saw, what it dropped and why, and what it gave."""
    return {
        "hits": [[hit.memory.hex(), hit.version, round(hit.similarity, 4)] for hit in hits],
        "drops": [[drop.memory, drop.reason] for drop in selection.drops],
        "items": [[entry.memory.id, entry.memory.version, round(entry.score, 4)] for entry in selection.chosen],
    }
