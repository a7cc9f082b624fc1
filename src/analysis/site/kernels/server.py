"""A process that has imported the heavy modules and forks for each order; its argument is a listening socket.

The process that started it holds the other end of its standard input; when that input ends, the server and
its unfinished orders end too.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import socketserver
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from analysis.base.errors import BenchbookError
from analysis.base.files import refusal
from analysis.site.kernels import PageError

PREPARED = b'{"prepared": true'  # an order that needs all that pages use begins like this
# Modules of stages and notebooks, imported once here instead of once each; those of datasets are needed
# first. A function behind a colon is called: what it keeps would be made once each, too. Not the inline
# backend: it ties itself to the shell that imports it.
PRELOAD = (
    *("numpy", "pandas", "pyarrow", "pyarrow.csv", "pyarrow.pandas_compat", "xarray"),
    *("h5netcdf", "h5netcdf.legacyapi", "pint"),
    *("analysis.readers:rows", "analysis.schema.profiles", "analysis.datasets.campaign"),
)
PRELOAD_OF_PAGES = (
    *("scipy.stats", "analysis.claims.audit", "analysis.claims.evaluation", "analysis.estimates.tables"),
    *("dask.array", "matplotlib.pyplot", "matplotlib.backends.backend_svg", "seaborn"),
    *("IPython.core.completer", "IPython.core.oinspect", "IPython.extensions.storemagic"),
    *("IPython.core.completerlib", "IPython.core.debugger", "traitlets.config.argcomplete_config"),
    *("ipykernel.debugger", "ipykernel.kernelapp", "tornado.platform.asyncio", "black"),
    *("analysis.site.kernels.execute", "analysis.pages", "analysis.pages.figures"),
    *("analysis.pages.notebook", "analysis.site.build:compile_templates", "analysis.base.modes:prepare"),
    *("nbconvert.filters.highlight", "nbconvert.filters.markdown_mistune"),
)
OPTIONAL = ("black",)  # papermill does without it
MODELS = ("analysis.schema.campaigns:CampaignFile", "analysis.claims.model:ClaimsFile")


def preload(meanwhile: Callable[[], None]) -> None:
    """Import what orders need; the notebook that uses a module that cannot be imported will fail.

    Orders that need no modules of pages are started by `meanwhile`, between the imports of these.
    """
    # The validator of notebooks takes two seconds to build a grammar of addresses, which no notebook has; a
    # debugger that nobody uses is most of a kernel's start.
    for unused in ("rfc3987_syntax", "debugpy"):
        sys.modules[unused] = None  # type: ignore[assignment]
    gc.disable()  # imported modules stay: to search them for garbage takes a sixth of the time
    for name in PRELOAD:
        _import(name)
    for name in PRELOAD_OF_PAGES:
        meanwhile()
        _import(name)
    _build_models()
    import matplotlib

    matplotlib.rcParams["svg.hashsalt"] = "benchbook"  # identifiers in figures: random otherwise
    _draw()
    _validate()


def _import(name: str) -> None:
    module, _, function = name.partition(":")
    try:
        found = importlib.import_module(module)
        if function:
            getattr(found, function)()
    except ImportError:
        if name in OPTIONAL:
            return
        print(f"{name} cannot be imported; pages that need it will fail", file=sys.stderr)
    except Exception:
        traceback.print_exc()


def _build_models() -> None:
    """Build the models of files that most stages read, which are otherwise built at their first use."""
    for name in MODELS:
        module, _, model = name.partition(":")
        getattr(importlib.import_module(module), model).model_rebuild()


def _draw() -> None:
    """Draw once: fonts are found and the grammar of formulas is built here instead of once per page."""
    import matplotlib

    figures = importlib.import_module("analysis.pages.figures")  # no import: this room imports base alone
    with matplotlib.rc_context():
        figures.use_style()
        figure, axes = figures.new_figure("measured")
        axes.set(xscale="log", yscale="log", xlabel="nodes", ylabel="time in s")
        figures.svg(figure, description="the first figure")


def _validate() -> None:
    """Validate a notebook once: the rules of the format are compiled here instead of once per page."""
    import nbformat

    nbformat.validate(nbformat.v4.new_notebook())  # type: ignore[no-untyped-call]


def run(function: str, given: dict[str, Any]) -> str:
    """Call ``module:function`` with what is given; return its fault, which is printed too, or nothing."""
    module, _, name = function.partition(":")
    try:
        getattr(importlib.import_module(module), name)(**given)
    except (BenchbookError, PageError) as error:
        fault = str(error)
    except BaseException as error:
        fault = refusal(error) if isinstance(error, OSError) else ""
        if not fault:
            traceback.print_exc()
        fault = (
            fault or f"{name}: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}; see the log"
        )
    else:
        return ""
    print(fault, file=sys.stderr)
    return fault


class _Handler(socketserver.BaseRequestHandler):
    """Reads an order with its log and forks a process for it, which lives as long as the client waits."""

    request: socket.socket
    server: _Server

    def handle(self) -> None:
        os.setpgid(0, 0)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for other in (self.server.socket, *(waiting for waiting, _ in self.server.pages)):
            other.close()  # else a client of a server that was killed would never return
        request, files, _, _ = socket.recv_fds(self.request, 1 << 16, 1)
        while not request.endswith(b"\n"):
            more = self.request.recv(1 << 16)
            if not more:
                return  # the client ended before its order was complete
            request += more
        answer, write = os.pipe()
        worker = os.fork()
        if not worker:
            _work(json.loads(request), files[0], write)
        os.close(write)
        waiting: list[Any] = [self.request, answer]
        ready, _, _ = select.select(waiting, [], [])
        if answer not in ready:
            os.killpg(0, signal.SIGKILL)  # the client is gone: nobody waits for this
        with os.fdopen(answer, "rb") as pipe:
            reply = pipe.read()
        _, status = os.waitpid(worker, 0)
        if not reply:
            died = f"its process died (status {os.waitstatus_to_exitcode(status)}); see the log"
            reply = json.dumps(died).encode()
        self.request.sendall(reply + b"\n")


def _work(order: dict[str, Any], log: int, reply: int) -> None:
    """Carry out an order in the process that was forked for it; never returns."""
    gc.freeze()  # a collection would copy every page of memory it looks at
    gc.enable()
    try:
        for number in (1, 2):
            os.dup2(log, number)
        os.chdir(order["cwd"])
        fault = run(order["function"], order["given"])
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(reply, json.dumps(fault).encode())
    finally:
        os._exit(0)


class _Server(socketserver.ForkingMixIn, socketserver.BaseServer):
    """Answers on a socket that listens already, so that a client is never too early."""

    max_children = 1000
    block_on_close = False

    def __init__(self, listener: socket.socket) -> None:
        super().__init__(listener.getsockname(), _Handler)
        self.socket = listener
        self.pages: list[tuple[socket.socket, Any]] = []  # orders that wait for their modules

    def fileno(self) -> int:
        return self.socket.fileno()

    def get_request(self) -> tuple[socket.socket, Any]:
        return self.socket.accept()

    def close_request(self, request: Any) -> None:
        request.close()

    def shutdown_request(self, request: Any) -> None:
        request.close()

    def service_actions(self) -> None:
        super().service_actions()
        if select.select([0], [], [], 0)[0] and not os.read(0, 4096):
            sys.exit(0)

    def accept_early(self) -> None:
        """Accept the orders that have come; those for pages wait until all is imported."""
        while select.select([self.socket], [], [], 0)[0]:
            request, address = self.get_request()
            if request.recv(len(PREPARED), socket.MSG_PEEK) == PREPARED:
                self.pages.append((request, address))
            else:
                self.process_request(request, address)

    def accept_late(self) -> None:
        """Accept the orders for pages that had to wait."""
        while self.pages:
            self.process_request(*self.pages.pop(0))

    def end(self) -> None:
        """End unfinished orders."""
        for child in self.active_children or ():
            for send in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError):
                    send(child, signal.SIGKILL)


def serve(listener: socket.socket) -> None:
    """Answer orders until the standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the owner; its end ends this
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server = _Server(listener)
    try:
        preload(server.accept_early)
        server.accept_late()
        server.serve_forever()
    finally:
        Path(listener.getsockname()).unlink(missing_ok=True)
        server.end()


if __name__ == "__main__":
    with contextlib.suppress(SystemExit):
        serve(socket.socket(fileno=int(sys.argv[1])))
    os._exit(0)  # an orderly end of all that was imported takes a while, and the build would wait
