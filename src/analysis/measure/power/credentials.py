"""Secrets of meters: from the environment or a private file, and never in anything that is written."""

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from analysis.base.errors import ConfigError

_LONGEST = 600  # characters; a message of ours can hold a long path twice


class Secret:
    """A password, pass phrase or community that does not print itself."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text; only for what hands it to the meter."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __reduce__(self) -> str:
        raise TypeError("a secret is not written")


def resolve(entry: Mapping[str, str], environment: Mapping[str, str], source: str, line: int) -> Secret:
    """Fetch a secret from the variable (``env``) or the first line of the file that an entry names.

    `ConfigError` if the variable is not set, or the file cannot be read, is empty, belongs to another user or
    is open to others than its owner.
    """
    text = _of_variable(entry, environment, source, line) if "env" in entry else _of_file(entry, source, line)
    if "\n" in text or "\r" in text or "\0" in text or '"' in text:
        raise ConfigError.at(source, line, "a secret with a quotation mark or a line end", "use another one")
    return Secret(text)


def _of_variable(entry: Mapping[str, str], environment: Mapping[str, str], source: str, line: int) -> str:
    text = environment.get(entry["env"], "")
    if not text:
        found = f"the variable {entry['env']} is not set"
        raise ConfigError.at(source, line, found, "export it in the job script from a private file")
    return text


def _of_file(entry: Mapping[str, str], source: str, line: int) -> str:
    path = Path(entry["file"]).expanduser()
    try:
        with path.open(encoding="utf-8") as handle:
            # Of the open file, not of the name, which may come to mean another file.
            state = os.fstat(handle.fileno())
            mode = stat.S_IMODE(state.st_mode)
            if mode & 0o077 or not stat.S_ISREG(state.st_mode):
                found = f"{path} has mode {mode:o}: others can read it or change it"
                raise ConfigError.at(source, line, found, f"chmod 600 {path}")
            if state.st_uid not in (os.geteuid(), 0):
                found = f"{path} belongs to another user"
                raise ConfigError.at(source, line, found, "use a file of your own")
            text = handle.readline().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ConfigError.at(source, line, f"cannot read {path}: {reason}", "check the path") from None
    if not text:
        raise ConfigError.at(source, line, f"the first line of {path} is empty", "put the secret there")
    return text


def redact(text: str, secrets: Iterable[Secret]) -> str:
    """Write ``***`` for each secret in a text, such as what a tool printed, and cut it to 600 characters.

    Cut before, a text could end in a part of a secret, which nobody finds.
    """
    for secret in sorted((s.reveal() for s in secrets), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text[:_LONGEST]


def child_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Make the environment of a tool: what it needs to be found, and no secret but its own."""
    kept = ("PATH", "HOME", "LD_LIBRARY_PATH", "SLURM_CONF", "TMPDIR")
    base = {name: os.environ[name] for name in kept if name in os.environ}
    search = base.get("PATH", os.defpath)
    # ipmitool and others are in sbin, which a user's search path may lack.
    return {**base, "PATH": f"{search}:/usr/local/sbin:/usr/sbin:/sbin", "LC_ALL": "C", **dict(extra or {})}
