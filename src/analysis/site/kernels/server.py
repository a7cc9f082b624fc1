"""A process that has the heavy modules imported and forks itself for each page.

Its life is tied to the process that started it: that one holds the other end of its standard
input and says nothing; when the input ends, the server and the pages still running end too.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

from analysis.site.kernels import Page, PageError

# What the notebooks use. Imported once here instead of once a page. Not the inline backend: it ties
# itself to the shell of the process that imports it.
PRELOAD = (
    "numpy",
    "pandas",
    "pyarrow",
    "xarray",
    "h5netcdf",
    "scipy.stats",
    "dask.array",
    "matplotlib.pyplot",
    "matplotlib.backends.backend_svg",
    "seaborn",
    "IPython.core.completer",
    "ipykernel.kernelapp",
    "analysis.site.kernels.execute",
    "analysis.readers",
    "analysis.datasets.campaign",
    "analysis.estimates.tables",
    "analysis.claims.audit",
    "analysis.pages",
    "analysis.pages.figures",
    "analysis.pages.notebook",
    "analysis.site",
)


def preload() -> None:
    """Import what pages need; a module that cannot be imported is left for the notebook to complain of."""
    for name in PRELOAD:
        try:
            importlib.import_module(name)
        except ImportError:
            print(f"{name} is not there; pages that need it will say so", file=sys.stderr)
        except Exception:
            traceback.print_exc()
    import matplotlib

    matplotlib.rcParams["svg.hashsalt"] = "benchbook"  # identifiers in figures: random otherwise
    gc.collect()
    gc.freeze()  # a collection in a child would copy every page of memory it looks at


def call(module: str, arguments: list[str]) -> str:
    """Run a module of the package as ``python -m`` would; return its fault as one line."""
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        return f"{module} ended with status {status}" if status else ""
    except BaseException as error:
        traceback.print_exc()
        return f"{module}: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    return ""


def run(page: Page) -> str:
    """Execute a page in this process; return its fault as one line, empty if there is none."""
    from analysis.site.kernels.execute import execute

    try:
        execute(page)
    except PageError as error:
        fault = str(error)
    except Exception as error:
        traceback.print_exc()
        fault = (
            f"{page.notebook}:1: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}; see the log"
        )
    else:
        return ""
    print(fault, file=sys.stderr)
    return fault


def serve(listener: socket.socket) -> int:
    """Answer requests until the standard input ends.

    Parameters
    ----------
    listener : socket
        Listening already, so that a client never comes too early (`analysis.site.kernels.client.start`).

    Returns
    -------
    int
        Exit status.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the owner; its end ends this
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    pages: dict[socket.socket, int] = {}
    try:
        preload()  # requests that come meanwhile wait in the queue
        while True:
            waiting: list[Any] = [0, listener, *pages]
            ready, _, _ = select.select(waiting, [], [], 0.5)
            if 0 in ready and not os.read(0, 4096):
                return 0
            _tidy(pages, ready)
            if listener in ready:
                connection, _ = listener.accept()
                pages[connection] = _fork_page(connection, [listener, *pages])
    finally:
        Path(listener.getsockname()).unlink(missing_ok=True)
        for child in pages.values():
            _kill(child)


def _tidy(pages: dict[socket.socket, int], ready: list[Any]) -> None:
    """Forget pages that have ended, and end those whose client has gone."""
    for connection, child in list(pages.items()):
        gone = connection in ready and not connection.recv(1, socket.MSG_PEEK)
        ended = os.waitpid(child, os.WNOHANG)[0] != 0
        if gone and not ended:
            _kill(child)
            os.waitpid(child, 0)
        if gone or ended:
            connection.close()
            del pages[connection]


def _kill(child: int) -> None:
    for send in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError):
            send(child, signal.SIGKILL)


def _fork_page(connection: socket.socket, others: list[socket.socket]) -> int:
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        os.setpgid(0, 0)
        for other in others:
            other.close()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        status = _answer(connection)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _answer(connection: socket.socket) -> int:
    """Read one order with the client's log, carry it out, and reply with its fault."""
    request, files, _, _ = socket.recv_fds(connection, 1 << 16, 1)
    while not request.endswith(b"\n"):
        more = connection.recv(1 << 16)
        if not more:
            return 1  # the client ended before it had said what it wants
        request += more
    for number in (1, 2):
        os.dup2(files[0], number)
    connection.sendall(b"+")  # from here on it is this process that answers for the page
    order = json.loads(request)
    os.chdir(order["cwd"])
    fault = call(order["module"], order["arguments"]) if "module" in order else run(Page(**order))
    connection.sendall(json.dumps({"fault": fault}).encode() + b"\n")
    return 1 if fault else 0
