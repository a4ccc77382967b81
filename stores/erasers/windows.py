"""The cache's eraser, which takes the windows of groups too in which an erased person spoke (W11)."""

from __future__ import annotations

from redis import Redis
from redis.exceptions import RedisError

from schemas.eraser import Plan, Scope
from schemas.errors import PartUnavailable, TransientError
from stores.cache import drop, window_key
from stores.copies import Place, forget_author, windows_of_author
from stores.database import translate
from stores.erasers.cache import CacheEraser
from stores.erasers.tables import Link

_ENTRY = "redis.windows"


class WindowsEraser(CacheEraser):
    """A window is one sealed value, so it goes as a whole and is merged anew from what the event log still has."""

    def __init__(self, client: Redis, link: Link) -> None:
        """Take the client of the cache and a connection to the lineage, which knows who spoke where."""
        super().__init__(client)
        self._link = link

    def erase(self, plan: Plan) -> None:
        """Delete the handle's keys; then others' windows, see that they are gone, and only then what leads to them.

        Raises:
            TransientError: a window that was deleted is there.
        """
        super().erase(plan)
        author, spoken = plan.scope.subject, self._spoken(plan.scope)
        if author is None or not spoken:
            return
        keys = [window_key(*place) for place in spoken]
        try:
            drop(self._client, *keys)
            left = self._client.exists(*keys)
        except RedisError as error:
            raise PartUnavailable(f"Redis: {type(error).__name__}") from None
        if left:
            raise TransientError("a deleted window is there")
        with translate():
            forget_author(self._link(), author, spoken)

    def _counts(self, scope: Scope) -> dict[str, int]:
        counts = super()._counts(scope)
        counts[_ENTRY] += len(self._spoken(scope))
        return counts

    def _spoken(self, scope: Scope) -> list[Place]:
        if scope.subject is None:
            return []
        with translate():
            return [place for place in windows_of_author(self._link(), scope.subject) if place[0] != scope.handle]
