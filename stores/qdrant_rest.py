"""The REST half of qdrant-client: its generated calls and models, which is all that we use of it.

The package itself, when imported, also brings gRPC, a local engine and an asynchronous twin of everything: 20 MB in
each process that touches the index. Only its sub-package is imported here, under a parent that stays empty; whoever
imports the whole package later gets it, with the same classes.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec

from schemas.errors import ConfigurationError

_PACKAGE = "qdrant_client"


def _import_half() -> None:
    if _PACKAGE in sys.modules:
        return
    spec = find_spec(_PACKAGE)
    if spec is None:
        raise ConfigurationError("qdrant-client is not installed")
    sys.modules[_PACKAGE] = module_from_spec(spec)
    try:
        import_module(f"{_PACKAGE}.http")
    finally:
        del sys.modules[_PACKAGE]


_import_half()

from qdrant_client.common.client_exceptions import ResourceExhaustedResponse  # noqa: E402 - after its half
from qdrant_client.http import SyncApis, models  # noqa: E402
from qdrant_client.http.api_client import ApiClient  # noqa: E402
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse  # noqa: E402

__all__ = [
    "ApiClient",
    "ResourceExhaustedResponse",
    "ResponseHandlingException",
    "SyncApis",
    "UnexpectedResponse",
    "models",
]
