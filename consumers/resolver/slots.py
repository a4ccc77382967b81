"""How memories are named: their slot (C1), their value, their ids. Keyed hashes, so that they die with the handle."""

from __future__ import annotations

from policy.text import condition_set, normalise_key, normalise_value
from schemas.ids import check_namespace
from schemas.records import Content
from schemas.words import MemoryType, Polarity, Visibility
from stores.sealing import SubjectKeys

# Preference and fact say the same kind of thing ("my editor is Vim", "I use Helix"). A temporary preference never
# touches the permanent one (C8); a goal, an experience, past behaviour are no statement about what holds.
_CLASSES = {
    MemoryType.PREFERENCE: "standing",
    MemoryType.FACT: "standing",
    MemoryType.TEMPORARY_PREFERENCE: "temporary",
    MemoryType.GOAL: "goal",
    MemoryType.EXPERIENCE: "experience",
    MemoryType.BEHAVIOUR: "behaviour",
}
CLASSES = ("standing", "temporary", "goal", "experience", "behaviour")


def identity(keys: SubjectKeys, content: Content, kind: MemoryType, visibility: Visibility) -> bytes:
    """Return the slot that a claim fills: namespace, key, conditions, scope, class, and whether it is shared (C1)."""
    return _slot(keys, content, _CLASSES[kind], visibility)


def identities(keys: SubjectKeys, content: Content, visibility: Visibility) -> tuple[bytes, ...]:
    """Return the slots of every class that an ending may mean: "no longer" does not say of what kind it was."""
    return tuple(_slot(keys, content, name, visibility) for name in CLASSES)


def value_digest(keys: SubjectKeys, value: str, polarity: Polarity) -> bytes:
    """Return what tells whether two claims of a slot say the same (C2): "likes" is not "dislikes" (B5)."""
    return keys.id("value", normalise_value(value), polarity)


def ended_digests(keys: SubjectKeys, content: Content, polarity: Polarity) -> frozenset[bytes] | None:
    """Return the digests of the values that an ending of a slot means, None for whatever it holds.

    Where the key itself names the thing ("likes.oysters"), the slot is what ends, however its value is put ("eating
    oysters"). Elsewhere ("editor") only the value that is named ends (B7). A neutral ending means any polarity; "I used
    to love jazz" takes back the love alone, whether it was of jazz or of listening to jazz.
    """
    value, (*above, name) = content.value, normalise_key(content.key).split(".")
    named = bool(above) and name in normalise_key(value)
    if polarity is not Polarity.NEUTRAL:
        values = (value, name.replace("_", " ")) if named else (value,)
        return frozenset(value_digest(keys, one, polarity) for one in values)
    if not normalise_value(value) or named:
        return None
    return frozenset(value_digest(keys, value, one) for one in Polarity)


def memory_id(keys: SubjectKeys, candidate: bytes) -> bytes:
    """Return the id of the memory that a candidate begins."""
    return keys.id("memory", candidate)


def narrower(scope: str, than: str, default: str) -> bool:
    """True where ``scope`` lies within ``than``, by segments; everything lies within the ``default`` scope."""
    have, want = check_namespace(scope).split("."), than.split(".")
    return scope != than and (than == default or have[: len(want)] == want)


def _slot(keys: SubjectKeys, content: Content, name: str, visibility: Visibility) -> bytes:
    conditions = "\0".join(condition_set(content.conditions)) if content.conditions else ""
    key = normalise_key(content.key)
    return keys.identity(content.namespace, key, conditions, content.scope, name, visibility)
