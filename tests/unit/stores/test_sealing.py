"""Sealing, ids and refs: what opens, what does not, and what says nothing of what it was made from."""

from __future__ import annotations

import os

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import KeyMissing
from stores.memories import namespace_hash, namespace_hashes
from stores.sealing import Lookup, RootKey, SubjectKeys, expand, framed, lock_of

HANDLE, KEY, ROW = os.urandom(16), os.urandom(32), os.urandom(16)
KEYS = SubjectKeys(HANDLE, KEY)
PARTS = st.lists(st.text() | st.binary(), max_size=4).map(tuple)


def test_sub_keys_are_those_of_rfc_5869() -> None:
    info = b"obelus/content"
    assert expand(KEY, b"content") == HKDFExpand(hashes.SHA256(), 32, info).derive(KEY)


@given(st.binary(max_size=2000))
def test_what_was_sealed_opens_again(plain: bytes) -> None:
    assert SubjectKeys(HANDLE, KEY).open(ROW, KEYS.seal(ROW, plain)) == plain


def test_two_seals_of_one_plaintext_differ() -> None:
    assert KEYS.seal(ROW, b"x") != KEYS.seal(ROW, b"x")


@pytest.mark.parametrize(
    "keys",
    [SubjectKeys(os.urandom(16), KEY), SubjectKeys(HANDLE, os.urandom(32))],
    ids=["another handle", "another key"],
)
def test_a_body_opens_only_under_its_handle_and_key(keys: SubjectKeys) -> None:
    with pytest.raises(KeyMissing):
        keys.open(ROW, KEYS.seal(ROW, b"tea"))


def test_a_body_cannot_be_moved_to_another_row() -> None:
    with pytest.raises(KeyMissing):
        KEYS.open(os.urandom(16), KEYS.seal(ROW, b"tea"))


@pytest.mark.parametrize("damaged", [b"", b"short", b"\x00" * 40])
def test_damage_fails_closed(damaged: bytes) -> None:
    with pytest.raises(KeyMissing) as caught:
        KEYS.open(ROW, damaged)
    assert caught.value.__cause__ is None


@given(PARTS, PARTS)
def test_no_two_lists_of_parts_are_framed_alike(one: tuple[str | bytes, ...], other: tuple[str | bytes, ...]) -> None:
    def raw(parts: tuple[str | bytes, ...]) -> list[bytes]:
        return [part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass") for part in parts]

    try:
        same = framed("k", one) == framed("k", other)
    except UnicodeEncodeError:
        return
    assert same == (raw(one) == raw(other))


def test_ids_tell_kinds_parts_and_people_apart() -> None:
    other = SubjectKeys(HANDLE, os.urandom(32))
    ids = {
        KEYS.id("turn", "m1"),
        KEYS.id("turn", "m2"),
        KEYS.id("candidate", "m1"),
        KEYS.id("turn", "m", "1"),
        KEYS.digest("turn", "m1"),
        KEYS.identity("turn", "m1"),
        other.id("turn", "m1"),
    }
    assert len(ids) == 7
    assert {len(made) for made in ids} == {16}
    assert SubjectKeys(HANDLE, KEY).id("turn", "m1") == KEYS.id("turn", "m1")


def test_a_lookup_names_subjects_conversations_and_tombstones_apart() -> None:
    lookup = Lookup(b"t" * 16, os.urandom(32))
    refs = {lookup.subject("a"), lookup.conversation("a", "b"), lookup.tombstone("a"), lookup.conversation("ab", "")}
    assert len(refs) == 4
    assert -(2**63) <= lock_of(lookup.subject("a")) < 2**63


def test_a_wrapped_key_opens_only_for_its_owner_and_root() -> None:
    root = RootKey(KEY)
    wrapped = root.wrap(b"owner", b"secret")
    assert root.unwrap(b"owner", wrapped) == b"secret"
    for holder, owner in ((root, b"other"), (RootKey(os.urandom(32)), b"owner")):
        with pytest.raises(KeyMissing):
            holder.unwrap(owner, wrapped)


def test_no_key_shows_itself() -> None:
    lookup, root = Lookup(b"t" * 16, KEY), RootKey(KEY)
    shown = f"{KEYS!r} {lookup!r} {root!r}"
    assert KEY.hex() not in shown
    assert repr(KEY) not in shown


def test_a_namespace_is_named_by_each_of_its_prefixes() -> None:
    hashes_ = namespace_hashes(KEYS, "work.editor.vim")
    assert hashes_[0] == namespace_hash(KEYS, "work")
    assert hashes_[1] == namespace_hash(KEYS, "work.editor")
    assert len(hashes_) == 3
    assert namespace_hash(KEYS, "wor") not in hashes_
