"""Each narrow selector through the real pipeline, and what is still on its way when a request is accepted."""

from __future__ import annotations

import secrets
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from benchmarks.memories import Loader, Seed
from consumers.purger.dryrun import as_requested
from deploy.cli.forgetting import order
from schemas.events import Deletion, Selector, Turn
from schemas.settings import Settings
from schemas.topics import DELETIONS, TURNS
from schemas.words import Role, SelectorKind
from stores.database import connect
from stores.vault import open_vault
from streams.codec import message
from streams.producer import publish
from streams.topics import apply
from tests.chaos.harness import Process, consumers, until
from tests.integration.test_narrow_erasure import T, forget, held, lines_of, say, turns

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@dataclass(frozen=True)
class Line:
    """The stack and its consumers, by name."""

    settings: Settings
    processes: dict[str, Process]

    @contextmanager
    def stopped(self, name: str) -> Iterator[None]:
        """Hold one consumer still, for less than the broker's session timeout."""
        self.processes[name].send(signal.SIGSTOP)
        try:
            yield
        finally:
            self.processes[name].resume()


@pytest.fixture(scope="module")
def line(settings: Settings) -> Iterator[Line]:
    from tests.stack import delete_topics

    delete_topics(settings)
    apply(settings)
    names = ("extractor", "gate", "resolver", "indexer", "purger")
    with consumers(settings, names, OBELUS_TENANT_GRACE_SECONDS="0") as processes:
        for name, process in processes.items():
            until(lambda p=process: "resynchronised" in p.text, 60, name)
        yield Line(settings, processes)


def values(line: Line, subject: str) -> set[str]:
    return set(held(line.settings, subject))


def points(line: Line, subject: str) -> int:
    """Rows of the ledger of a subject's points."""
    vault = open_vault(line.settings)
    lookup = vault.lookup(T)
    vault.close()
    ref = lookup.subject(subject) if lookup else b""
    with connect(line.settings.database, autocommit=True) as conn:
        query = "SELECT count(*) FROM vectors JOIN subjects USING (handle) WHERE ref = %s AND state = 'written'"
        return int(conn.execute(query, (ref,)).fetchone()[0])


def test_one_key_goes_and_the_other_keys_stay(line: Line) -> None:
    say(line.settings, "kai", ("c1", "m1", "I live in Lyon."), ("c1", "m2", "My manager is Nadia."))
    until(lambda: points(line, "kai") == 2, 30, "both are indexed")
    answer = forget(line.settings, "kai", SelectorKind.KEY, key="relation.manager")
    assert answer["state"] in ("verified", "final")
    assert values(line, "kai") == {"Lyon"}
    lines = lines_of(answer)
    assert lines["postgres.memories"]["before"] == 1 and lines["qdrant.memories"]["before"] == 1
    assert lines["postgres.turns"]["status"] == "retained"
    # Sent again it is known; said anew it is news.
    say(line.settings, "kai", ("c1", "m2", "My manager is Nadia."), ("c2", "m3", "I love jazz."))
    until(lambda: "jazz" in values(line, "kai"), 30, "the pipeline is past it")
    assert values(line, "kai") == {"Lyon", "jazz"}
    say(line.settings, "kai", ("c3", "m4", "My manager is Nadia."))
    until(lambda: "Nadia" in values(line, "kai"), 30, "a new message counts")


def test_a_namespace_goes_by_segments(line: Line) -> None:
    """B3."""
    loader = Loader(line.settings)
    names = ("project.p1", "project.p1.tools", "project.p10", "project.p2", "project")
    loader.load([Seed("uma", "editor", f"in {name}", namespace=name, tenant=T) for name in names])
    loader.close()
    assert values(line, "uma") == {f"in {name}" for name in names} and points(line, "uma") == 5
    answer = forget(line.settings, "uma", SelectorKind.NAMESPACE, namespace="project.p1")
    assert answer["state"] in ("verified", "final")
    assert values(line, "uma") == {"in project.p10", "in project.p2", "in project"} and points(line, "uma") == 3
    assert lines_of(answer)["postgres.memories"]["before"] == 2


def test_a_stretch_of_time_goes_with_what_was_said_in_it(line: Line) -> None:
    for day, what in ((1, "tea"), (2, "jazz"), (3, "chess")):
        one(line, "tim", f"m{day}", f"I love {what}.", at=datetime(2026, 3, day, 12, tzinfo=UTC))
    until(lambda: points(line, "tim") == 3, 30, "all are indexed")
    since, end = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 3, 12, tzinfo=UTC)
    answer = forget(line.settings, "tim", SelectorKind.TIME, since=since, until=end)
    assert answer["state"] in ("verified", "final")
    assert values(line, "tim") == {"tea", "chess"} and turns(line.settings, "tim") == 2
    lines = lines_of(answer)
    assert (lines["postgres.turns"]["status"], lines["postgres.turns"]["before"]) == ("erased", 1)


def test_an_edited_message_goes_in_every_wording(line: Line) -> None:
    one(line, "eva", "m1", "I love tea.")
    until(lambda: points(line, "eva") == 1, 30, "the first wording counts")
    one(line, "eva", "m1", "I love coffee.", revision=1)
    until(lambda: values(line, "eva") == {"coffee"}, 30, "the second takes its place")
    answer = forget(line.settings, "eva", SelectorKind.MESSAGE, message="m1")
    assert answer["state"] in ("verified", "final")
    assert values(line, "eva") == set() and turns(line.settings, "eva") == 0
    # Neither the old wording nor the new one, nor a newer one still, comes back under this id.
    for revision, what in ((0, "tea"), (1, "coffee"), (2, "cocoa")):
        one(line, "eva", "m1", f"I love {what}.", revision=revision)
    one(line, "eva", "m2", "I love chess.")
    until(lambda: "chess" in values(line, "eva"), 30, "the pipeline is past it")
    assert values(line, "eva") == {"chess"} and turns(line.settings, "eva") == 1


@pytest.mark.parametrize("stage", ["extractor", "gate", "resolver"])
def test_nothing_found_is_said_only_once_the_pipeline_is_past_the_request(line: Line, stage: str) -> None:
    """A20: what was said before the request may still be on its way; it is found, and only then nothing is."""
    subject = f"zoe-{stage}"
    say(line.settings, subject, ("c1", "m0", "I love jazz."))
    until(lambda: points(line, subject) == 1, 30, "the subject is known")
    with line.stopped(stage):
        one(line, subject, "m1", "I live in Lyon.")
        early = ask(line, subject, SelectorKind.KEY, key="home")
        unknown = ask(line, subject, SelectorKind.KEY, key="relation.manager")
        until(lambda: state_of(line, early) == state_of(line, unknown) == "erasing", 30, "both wait")
        time.sleep(1.5)
        assert receipts_of(line, early) == receipts_of(line, unknown) == 0
    found, nothing = (wait_for(line, request, subject) for request in (early, unknown))
    # What has no memory yet is taken as what it is by then: a candidate, decided or not.
    taken = lines_of(found)
    assert taken["postgres.candidates"]["status"] == "erased"
    assert (taken["postgres.memories"]["status"] == "erased") == (stage == "extractor")
    tables = ("turns", "candidates", "decisions", "memories", "sources")
    assert {lines_of(nothing)[f"postgres.{table}"]["status"] for table in tables} == {"nothing_found"}
    assert values(line, subject) == {"jazz"}


def test_a_tenant_covers_people_first_heard_of_in_flight(line: Line) -> None:
    tenant = f"whole-{secrets.token_hex(3)}"
    one(line, "old", "m1", "I love tea.", tenant=tenant)
    until(lambda: people_of(line, tenant) == {"old": True}, 30, "one is known")
    with line.stopped("extractor"):
        # Nobody has heard of these when everybody is blocked.
        for name in ("new", "old"):
            one(line, name, "m2", "I love coffee.", tenant=tenant)
        _, digest = as_requested(line.settings, tenant, Selector(kind=SelectorKind.TENANT))
        request = secrets.token_hex(6)
        event = Deletion(
            request_id=request,
            tenant=tenant,
            requested_by="officer",
            selector=Selector(kind=SelectorKind.TENANT),
            plan_digest=digest,
        )
        publish(line.settings, [message(DELETIONS, tenant, event, request)])
        until(lambda: state_of(line, request, tenant) in ("verified", "final"), 30, "it is verified")
    # Later turns begin a new life; their being there says that the earlier ones have been met.
    for name in ("new", "old"):
        one(line, name, "m3", "I love chess.", tenant=tenant, at=datetime.now(UTC))
    until(lambda: people_of(line, tenant) == {"new": True, "old": True}, 30, "both live again")
    until(lambda: stored(line, tenant) == 2, 30, "one turn each")
    assert outcomes(line) >= 2


def one(line: Line, subject: str, name: str, text: str, *, tenant: str = T, **more: Any) -> None:
    event = Turn(
        tenant=tenant,
        subject=subject,
        conversation="c1",
        message_id=name,
        role=Role.USER,
        text=text,
        **({"at": datetime(2026, 1, 1, tzinfo=UTC)} | more),
    )
    publish(line.settings, [message(TURNS, f"{tenant}:{subject}", event, name)])


def ask(line: Line, subject: str, kind: SelectorKind, **what: Any) -> str:
    """Publish a request and do not wait for it."""
    request = secrets.token_hex(6)
    publish(line.settings, [message(DELETIONS, f"{T}:{subject}", _event(request, subject, kind, **what), request)])
    ASKED[request] = (kind, what)
    return request


ASKED: dict[str, tuple[SelectorKind, dict[str, Any]]] = {}


def _event(request: str, subject: str, kind: SelectorKind, **what: Any) -> Deletion:
    selector = Selector(kind=kind, subject=subject, **what)
    return Deletion(request_id=request, tenant=T, requested_by="officer", selector=selector)


def wait_for(line: Line, request: str, subject: str) -> dict[str, Any]:
    """Ask again under the same id, which counts once, and wait."""
    kind, what = ASKED[request]
    return order(line.settings, _event(request, subject, kind, **what), wait=True, timeout=60)


def _row(line: Line, query: str, request: str, tenant: str) -> Any:
    vault = open_vault(line.settings)
    lookup = vault.lookup(tenant)
    vault.close()
    if lookup is None:
        return None
    with connect(line.settings.database, autocommit=True) as conn:
        row = conn.execute(query, (lookup.holder(request),)).fetchone()
    return row[0] if row else None


def state_of(line: Line, request: str, tenant: str = T) -> str | None:
    return _row(line, "SELECT state FROM erasures WHERE id = %s", request, tenant)


def receipts_of(line: Line, request: str) -> int:
    return int(_row(line, "SELECT count(*) FROM receipts WHERE erasure = %s", request, T))


def people_of(line: Line, tenant: str) -> dict[str, bool]:
    """Whether each of two names has a row, and a handle."""
    vault = open_vault(line.settings)
    lookup = vault.lookup(tenant)
    vault.close()
    if lookup is None:
        return {}
    names = {lookup.subject(name): name for name in ("new", "old")}
    with connect(line.settings.database, autocommit=True) as conn:
        rows = conn.execute("SELECT ref, handle FROM subjects WHERE ref = ANY(%s)", (list(names),)).fetchall()
    return {names[ref]: handle is not None for ref, handle in rows}


def stored(line: Line, tenant: str) -> int:
    """Turns of a tenant's people."""
    vault = open_vault(line.settings)
    ref = vault.tenant_ref(tenant)
    vault.close()
    with connect(line.settings.database, autocommit=True) as conn:
        query = "SELECT count(*) FROM turns AS t JOIN subjects AS s ON s.handle = t.handle WHERE s.tenant = %s"
        return int(conn.execute(query, (ref,)).fetchone()[0])


def outcomes(line: Line) -> int:
    """How many records the extractor has taken for parts of an erased life."""
    import re

    import httpx

    [port] = set(re.findall(r"health on port (\d+)", line.processes["extractor"].text))
    text = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text
    found = re.findall(r'obelus_erased_source_total\{consumer="extractor"\} (\S+)', text)
    return int(float(found[0])) if found else 0
