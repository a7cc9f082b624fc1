"""Asks the build's server for a page, or executes it here where no server listens."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from analysis.site.kernels import ENVIRONMENT, SOCKET, Page


def request(page: Page, log: str | Path, *, server: str | Path = SOCKET) -> str:
    """Execute a page, through the server if there is one.

    Parameters
    ----------
    page : Page
    log : path
        Gets what the execution prints and, if it fails, the traceback. Replaced.
    server : path
        Socket of the server.

    Returns
    -------
    str
        The fault as one line; empty if there is none.
    """
    reply = _order(page.record(), log, server)
    if reply is None:
        with Path(log).open("wb") as stream:
            return _alone(page, stream.fileno())
    return reply


def call(module: str, arguments: Sequence[str], log: str | Path, *, server: str | Path = SOCKET) -> str:
    """Run a module of the package as ``python -m`` would, through the server if there is one.

    Parameters
    ----------
    module : str
    arguments : sequence of str
    log : path
        Gets what the module prints. Replaced.
    server : path
        Socket of the server.

    Returns
    -------
    str
        The fault as one line; empty if there is none.
    """
    order = {"module": module, "arguments": list(arguments), "cwd": str(Path.cwd())}
    reply = _order(order, log, server)
    if reply is not None:
        return reply
    with Path(log).open("wb") as stream:
        command = [sys.executable, "-m", module, *arguments]
        done = subprocess.run(command, stdout=stream, stderr=subprocess.STDOUT, check=False)
    return f"{module} ended with status {done.returncode}" if done.returncode else ""


def _order(order: dict[str, Any], log: str | Path, server: str | Path) -> str | None:
    """Have the server carry out an order; None if there is no server, or it ended before it began."""
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    with Path(log).open("wb") as stream, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(str(server))
        except OSError:  # none here: a cluster's node, or a call by hand
            return None
        reply = _converse(connection, order, stream.fileno())
    if not reply.startswith(b"+"):
        return None
    if not reply.endswith(b"\n"):
        return f"{order.get('notebook') or order['module']}:1: its process died; see {log}"
    return str(json.loads(reply[1:])["fault"])


@contextlib.contextmanager
def start(path: str | Path = SOCKET) -> Iterator[None]:
    """Run a server while the context lasts; it ends with this process in any case.

    Parameters
    ----------
    path : path
        Its socket. If another server listens there already, that one is used.
    """
    path = Path(path)
    if _listening(path):
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # left behind by a server that was killed
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(128)
        number = listener.fileno()
        # A session of its own: Ctrl-C is for the owner, whose end is the server's end.
        server = subprocess.Popen(
            [sys.executable, "-m", "analysis.site.kernels", "serve", str(number)],
            stdin=subprocess.PIPE,
            env={**os.environ, **ENVIRONMENT},
            pass_fds=[number],
            start_new_session=True,
        )
    try:
        yield
    finally:
        if server.stdin:
            server.stdin.close()
        server.terminate()  # it may be importing still
        server.wait()
        path.unlink(missing_ok=True)


def _listening(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _converse(connection: socket.socket, order: dict[str, Any], log: int) -> bytes:
    """Send an order and the file for its log; return all that the server has to say."""
    line = json.dumps(order).encode() + b"\n"
    reply = b""
    with contextlib.suppress(ConnectionError):
        sent = socket.send_fds(connection, [line], [log])
        connection.sendall(line[sent:])
        while not reply.endswith(b"\n"):
            more = connection.recv(1 << 16)
            if not more:
                break
            reply += more
    return reply


def _alone(page: Page, log: int) -> str:
    """Execute a page in a process of its own: the environment must be set before Python starts."""
    command = [sys.executable, "-m", "analysis.site.kernels", "alone"]
    done = subprocess.run(
        command,
        input=json.dumps(page.record()),
        stdout=subprocess.PIPE,
        stderr=log,
        env={**os.environ, **ENVIRONMENT},
        text=True,
        check=False,
    )
    try:
        return str(json.loads(done.stdout)["fault"])
    except ValueError:
        return f"{page.notebook}:1: its process ended with status {done.returncode}; see the log"
