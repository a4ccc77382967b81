"""The routes: each reads JSON, calls the engine, answers in Qdrant's envelope."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import orjson
import qdrant_edge as edge
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from deploy.vectorserver import points, replies
from deploy.vectorserver.collection import Collection
from deploy.vectorserver.errors import QdrantError, bad_request, from_engine, unsupported
from deploy.vectorserver.filters import Json, Schema, parse
from deploy.vectorserver.server import Collections, running

Handler = Callable[[Request, Any], Any]
_OPERATION = {"operation_id": 0, "status": "completed"}


def application(collections: Collections) -> Starlette:
    """Make the server's application."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with running(collections):
            yield

    app = Starlette(routes=_routes(), lifespan=lifespan)
    app.state.collections = collections
    return app


def _routes() -> list[Route]:
    one = "/collections/{name}"
    at = f"{one}/points"
    table: list[tuple[str, str, Handler]] = [
        ("GET", "/telemetry", _telemetry),
        ("GET", "/collections", _list),
        ("GET", one, _info),
        ("PUT", one, _create),
        ("DELETE", one, _drop),
        ("GET", f"{one}/exists", _exists),
        ("PUT", f"{one}/index", _create_index),
        ("DELETE", f"{one}/index/{{field}}", _delete_index),
        ("POST", at, _retrieve),
        ("PUT", at, _upsert),
        ("POST", f"{at}/delete", _updates(points.delete, deletes=True)),
        ("POST", f"{at}/payload", _updates(points.set_payload)),
        ("PUT", f"{at}/payload", _updates(points.overwrite_payload)),
        ("POST", f"{at}/payload/delete", _updates(points.delete_payload)),
        ("POST", f"{at}/query", _query),
        ("POST", f"{at}/query/batch", _query_batch),
        ("POST", f"{at}/scroll", _scroll),
        ("POST", f"{at}/count", _count),
    ]
    routes = [Route(path, _enveloped(handler), methods=[verb]) for verb, path, handler in table]
    routes.append(Route("/", _version))
    routes += [Route(path, _healthy) for path in ("/healthz", "/livez", "/readyz")]
    verbs = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    return [*routes, Route("/{rest:path}", _enveloped(_unknown), methods=verbs)]


def _enveloped(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        started = time.perf_counter()
        try:
            raw = await request.body()
            result = handler(request, orjson.loads(raw) if raw else {})
        except QdrantError as error:
            return _failed(error.status, str(error), started)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            # Ours and the engine's way to say that the request has not the expected shape.
            return _failed(400, f"Bad request: {error!r}", started)
        except Exception as error:
            failed = from_engine(error)
            return _failed(failed.status, str(failed), started)
        body = {"result": result, "status": "ok", "time": time.perf_counter() - started}
        # A vector comes as an array where the engine keeps one.
        return _json(200, orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY))

    return answer


def _failed(status: int, message: str, started: float) -> Response:
    body = {"status": {"error": message}, "time": time.perf_counter() - started}
    return _json(status, orjson.dumps(body))


def _json(status: int, body: bytes) -> Response:
    return Response(body, status, media_type="application/json")


def _unknown(request: Request, body: Json) -> Any:
    raise unsupported(f"{request.method} {request.url.path}")


async def _healthy(request: Request) -> Response:
    return Response("healthz check passed")


def _all(request: Request) -> Collections:
    found: Collections = request.app.state.collections
    return found


def _one(request: Request) -> Collection:
    return _all(request).get(request.path_params["name"])


async def _version(request: Request) -> Response:
    about = {"title": "qdrant - vector search engine", "version": replies.VERSION}
    return _json(200, orjson.dumps(about))


def _telemetry(request: Request, body: Json) -> Json:
    return replies.telemetry(_all(request).open)


def _list(request: Request, body: Json) -> Json:
    return {"collections": [{"name": name} for name in _all(request).open]}


def _info(request: Request, body: Json) -> Json:
    return replies.info(_one(request))


def _create(request: Request, body: Json) -> bool:
    _all(request).create(request.path_params["name"], body)
    return True


def _drop(request: Request, body: Json) -> bool:
    return _all(request).delete(request.path_params["name"])


def _exists(request: Request, body: Json) -> Json:
    return {"exists": request.path_params["name"] in _all(request).open}


def _create_index(request: Request, body: Json) -> Json:
    _one(request).create_index(body["field_name"], body.get("field_schema") or "keyword")
    return _OPERATION


def _delete_index(request: Request, body: Json) -> Json:
    _one(request).delete_index(request.path_params["field"])
    return _OPERATION


def _updates(make: Callable[[Json, Schema], edge.UpdateOperation], *, deletes: bool = False) -> Handler:
    def handler(request: Request, body: Json) -> Json:
        collection = _one(request)
        collection.update(make(body, collection.schema), deletes=deletes)
        return _OPERATION

    return handler


def _upsert(request: Request, body: Json) -> Json:
    collection = _one(request)
    operation = points.upsert(body, collection.schema, collection.sizes)
    collection.update(operation)
    return _OPERATION


def _query(request: Request, body: Json) -> Json:
    return _search(_one(request), body)


def _query_batch(request: Request, body: Json) -> list[Json]:
    collection = _one(request)
    return [_search(collection, search) for search in body["searches"]]


def _search(collection: Collection, body: Json) -> Json:
    return {"points": points.scored(collection.shard.query(points.query(body, collection.schema)))}


def _scroll(request: Request, body: Json) -> Json:
    collection = _one(request)
    found, following = collection.shard.scroll(points.scroll(body, collection.schema))
    return {"points": points.records(found), "next_page_offset": following}


def _retrieve(request: Request, body: Json) -> list[Json]:
    collection = _one(request)
    if body.get("ids") is None:
        raise bad_request("missing field `ids`")
    wanted = points.payload_selector(body.get("with_payload"), default=True)
    found = collection.shard.retrieve(body["ids"], wanted, body.get("with_vector") or False)
    return points.records(found)


def _count(request: Request, body: Json) -> Json:
    collection = _one(request)
    chosen = parse(body.get("filter"), collection.schema)
    return {"count": collection.shard.count(edge.CountRequest(exact=True, filter=chosen))}
