"""How English speakers name themselves in a statement: pieces that the fact rules share."""

from __future__ import annotations

NOW = r"(?: (?:now|currently|actually|also|still|just|both|originally|really|been|always|recently|only))*"
I_AM = rf"(?<![\w'])I(?: am|'m|'ve been| have been){NOW}"
NAME = r"(?P<it>[A-Z][\w'\-]*(?: [A-Z][\w'\-]*){0,2})(?=[\s,.!?]|$)"
