"""The cache's eraser, which takes what groups have there of an erased person's words (W11): windows, kept answers."""

from __future__ import annotations

from typing import cast

from redis import Redis

from schemas.eraser import Plan, Scope
from schemas.errors import TransientError
from stores.cache import drop, entry_of, is_recall, names_key, translated, window_key
from stores.copies import Spoken, copies_of_author, forget_author
from stores.database import translate
from stores.erasers.cache import CacheEraser
from stores.erasers.tables import Link

_WINDOWS, _ANSWERS = "redis.windows", "redis.cache"
_NOTHING = Spoken([], [], frozenset())


class WindowsEraser(CacheEraser):
    """A window is one sealed value, so it goes as a whole and is merged anew from what the event log still has.

    Answers that show what was cut from a group are known once it is cut; ask again then.
    """

    def __init__(self, client: Redis, link: Link) -> None:
        """Take the client of the cache and a connection to the lineage, which knows who spoke where."""
        super().__init__(client)
        self._link = link

    def erase(self, plan: Plan) -> None:
        """Delete the handle's keys; then others', see that they are gone, and only then what leads to them.

        Raises:
            TransientError: a key that was deleted is there.
        """
        super().erase(plan)
        author, spoken = plan.scope.subject, self._spoken(plan.scope)
        keys = [*(window_key(*place) for place in spoken.windows), *self._answers(spoken)]
        if author is None or not keys:
            return
        with translated():
            drop(self._client, *keys)
            left = self._client.exists(*keys)
        if left:
            raise TransientError("a deleted copy is there")
        # Before the cut has noted them they are what it finds the group by.
        noted = [place for place in spoken.windows if place[0] in spoken.handles]
        if noted:
            with translate():
                forget_author(self._link(), author, noted)

    def _counts(self, scope: Scope) -> dict[str, int]:
        counts, spoken = super()._counts(scope), self._spoken(scope)
        if spoken.windows:
            with translated():
                counts[_WINDOWS] += self._client.exists(*(window_key(*place) for place in spoken.windows))
        counts[_ANSWERS] += len(self._answers(spoken))
        return counts

    def _spoken(self, scope: Scope) -> Spoken:
        if scope.subject is None:
            return _NOTHING
        with translate():
            found = copies_of_author(self._link(), scope.subject, scope.erasure)
        return found._replace(windows=[place for place in found.windows if place[0] != scope.handle])

    def _answers(self, spoken: Spoken) -> list[str]:
        """Keys of kept answers that are there, by the names noted with each write."""
        if not spoken.answers:
            return []
        pipe = self._client.pipeline(transaction=False)
        for handle in spoken.handles:
            pipe.zrange(names_key(handle), 0, -1)
        with translated():
            noted = cast("list[list[bytes]]", pipe.execute())
        keys = (name.decode("ascii") for names in noted for name in names)
        return [key for key in keys if is_recall(key) and entry_of(key) in spoken.answers]
