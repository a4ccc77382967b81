"""Errors in the words and with the status codes of a Qdrant server."""

from __future__ import annotations


class QdrantError(Exception):
    """An answer other than 200; the message goes to the client as Qdrant would send it."""

    def __init__(self, status: int, message: str) -> None:
        """Keep the status code beside the message."""
        super().__init__(message)
        self.status = status


def bad_request(message: str) -> QdrantError:
    """Make the error for a request that is understood and wrong."""
    return QdrantError(400, f"Bad request: {message}")


def unsupported(what: str) -> QdrantError:
    """Make the error for what a real server could do and this one cannot."""
    return QdrantError(501, f"Not implemented by the embedded vector server: {what}")


def no_collection(name: str) -> QdrantError:
    """Make the error for an unknown collection."""
    return QdrantError(404, f"Not found: Collection `{name}` doesn't exist!")


def from_engine(error: Exception) -> QdrantError:
    """Read the engine's plain exceptions, which carry their kind only in their words."""
    words = str(error)
    if words.startswith("No point with id"):
        return QdrantError(404, f"Not found: {words}")
    if words.startswith("Vector dimension error"):
        return QdrantError(400, f"Wrong input: {words}")
    return QdrantError(500, f"Service internal error: {words}")
