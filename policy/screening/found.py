"""What a detector reports, and the kinds there are. A kind is all that is ever kept of a span."""

from __future__ import annotations

import re
from typing import NamedTuple

API_KEY = "secret:api_key"
PRIVATE_KEY = "secret:private_key"
TOKEN = "secret:token"  # noqa: S105 - the name of a kind
PASSWORD = "secret:password"  # noqa: S105 - the name of a kind
CARD = "payment_card"
ACCOUNT = "bank_account"
NATIONAL_ID = "national_id"

# What screening leaves behind; screening its own output must find nothing.
PLACEHOLDER = re.compile(r"\[(secret:(?:api_key|private_key|token|password)|payment_card|bank_account|national_id)\]")


class Found(NamedTuple):
    """A span and its kind."""

    kind: str
    start: int
    end: int
