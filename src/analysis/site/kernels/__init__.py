"""Execution of notebooks: parameters in, executed notebook and main figure out, the same bytes each time.

Starting kernels would take most of a build, so a page's kernel is *forked* from a process that has imported
the heavy modules: a small server (`analysis.site.kernels.server`) that Snakemake starts and that ends with
it, or, without one, the caller's own process. Nothing is imported here that a stage could do without: each
is a process of its own, which must start fast.
"""

import json
import socket
import sys
from typing import Any

# Where a build's server listens, relative to the root: a socket's path may have 107 bytes.
SOCKET = ".snakemake/pages.sock"

# Set before the interpreter of a page starts. Hash order, thread counts and time stamps would otherwise
# appear in outputs; the backend is the one that JupyterLab uses.
ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "SOURCE_DATE_EPOCH": "0",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}


class PageError(RuntimeError):
    """A notebook that failed: one line that names the notebook, the cell and what went wrong."""


def ask(order: dict[str, Any], log: int, server: str = SOCKET) -> str | None:
    """Send an order to the server and return its fault, or nothing; None if there is no server, or it ended.

    The order says which ``function`` to call, with what (``given``) and in which folder (``cwd``), and first
    of all whether it needs what pages need (``prepared``). ``before``, if it is there, is a function that the
    server itself calls first, with the same. `log` is an open file for what is printed.
    """
    reply = b""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(server)
        except OSError:  # none here: a cluster's node, or a call by hand
            return None
        line = json.dumps(order).encode() + b"\n"
        try:
            sent = socket.send_fds(connection, [line], [log])
            connection.sendall(line[sent:])
            while more := connection.recv(1 << 16):
                reply += more
        except ConnectionError:
            return None
    return str(json.loads(reply)) if reply.endswith(b"\n") else None


def say(fault: str, log: str) -> int:
    """Print a stage's log if it failed, or the fault if the log is empty; return its status."""
    if fault:
        with open(log, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            printed = file.read()
        print(printed or fault, end="" if printed else "\n", file=sys.stderr)
    return 1 if fault else 0
