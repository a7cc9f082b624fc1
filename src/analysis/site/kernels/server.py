"""A process that has imported the heavy modules and forks for each order; its argument is a listening socket.

The process that started it holds the other end of its standard input; when that input ends, the server and
its unfinished orders end too.
"""

import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from analysis.base.errors import BenchbookError
from analysis.base.files import refusal
from analysis.site.kernels import PageError

_PAUSE = 0.05  # s
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


def _named(name: str) -> Any:
    """Return the module of a name, or what a name behind a colon is there."""
    module, _, inner = name.partition(":")
    found = importlib.import_module(module)
    return getattr(found, inner) if inner else found


def _import(name: str) -> None:
    try:
        found = _named(name)
        if ":" in name:
            found()
    except ImportError:
        if name in OPTIONAL:
            return
        print(f"{name} cannot be imported; pages that need it will fail", file=sys.stderr)
    except Exception:
        traceback.print_exc()


def _build_models() -> None:
    """Build the models of files that most stages read, which are otherwise built at their first use."""
    for name in MODELS:
        _named(name).model_rebuild()


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


class _Order:
    """What a client has asked for on its connection, and the process that carries it out."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.text = b""
        self.log = -1
        self.worker = 0
        self.answer = -1
        self.reply = b""

    def read(self) -> bool:
        """Read on; return False if the client is gone."""
        more, files, _, _ = socket.recv_fds(self.connection, 1 << 16, 1)
        self.log = files[0] if files else self.log
        self.text += more
        return bool(more)

    def close(self) -> None:
        """Close what is open of it."""
        self.connection.close()
        for number in (self.log, self.answer):
            if number >= 0:
                os.close(number)


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


def _fork() -> tuple[int, int, int]:
    """Fork; return the new process, 0 in itself, and the two ends of a pipe for its answer."""
    read, write = os.pipe()
    try:
        return os.fork(), read, write
    except OSError:
        os.close(read)
        os.close(write)
        raise


class _Server:
    """Forks a process for each order, which lives as long as the client waits."""

    def __init__(self, listener: socket.socket) -> None:
        self.listener = listener
        self.ready = False  # all is imported
        self.orders: list[_Order] = []
        self._waits = selectors.DefaultSelector()
        self._waits.register(listener, selectors.EVENT_READ, self._accept)

    def until_end_of(self, stream: int) -> None:
        """Answer orders until a stream ends."""
        ended = []

        def look() -> None:
            ended.extend([] if os.read(stream, 4096) else [True])

        self._waits.register(stream, selectors.EVENT_READ, look)
        while not ended:
            self.answer(None)

    def answer(self, seconds: float | None = 0) -> None:
        """Do what there is to do, or wait for it so long."""
        for key, _ in self._waits.select(seconds):
            if self._waits.get_map().get(key.fd) is key:  # not ended by one before it
                key.data()

    def begin_late(self) -> None:
        """Begin the orders for pages, which had to wait until all was imported."""
        self.ready = True
        for order in list(self.orders):
            self._begin(order)

    def end(self) -> None:
        """End unfinished orders; the signal for it may come while one of them is ending."""
        for order in list(self.orders):
            with contextlib.suppress(OSError, KeyError, ValueError):
                self._end(order)

    def _accept(self) -> None:
        try:
            order = _Order(self.listener.accept()[0])
        except OSError:  # no file left for it: it waits until an order has ended
            time.sleep(_PAUSE)
            return
        self.orders.append(order)
        self._waits.register(order.connection, selectors.EVENT_READ, lambda: self._read(order))

    def _read(self, order: _Order) -> None:
        try:
            there = order.read()
        except ConnectionError:
            there = False
        if there:
            self._begin(order)
        else:
            self._end(order)  # the client is gone: nobody waits for this

    def _begin(self, order: _Order) -> None:
        """Fork a process for an order that is complete, and for which all is there."""
        early = order.text.startswith(PREPARED) and not self.ready
        if order.worker or early or not order.text.endswith(b"\n"):
            return
        try:
            asked = dict[str, Any](json.loads(order.text))
        except (TypeError, ValueError):  # no order at all
            self._end(order)
            return
        # What it is for meets the fault again, and says so. Words of no stage end a parser of commands.
        with contextlib.suppress(Exception, SystemExit):
            if "before" in asked:
                _named(asked["before"])(cwd=asked["cwd"], **asked["given"])
        try:
            worker, read, write = _fork()
        except OSError:  # no process or file is left: whoever asked does it without this server
            self._end(order)
            return
        order.worker, order.answer = worker, read
        if not worker:
            os.setpgid(0, 0)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._waits.close()
            self.listener.close()
            for other in self.orders:  # else a client of a server that was killed would never return
                other.connection.close()
            _work(asked, order.log, write)
        with contextlib.suppress(OSError):  # whoever of the two is first
            os.setpgid(order.worker, order.worker)
        os.close(write)
        self._waits.register(order.answer, selectors.EVENT_READ, lambda: self._hear(order))

    def _hear(self, order: _Order) -> None:
        """Take the answer to an order; send it when it is complete."""
        if more := os.read(order.answer, 1 << 16):
            order.reply += more
            return
        status = os.waitstatus_to_exitcode(os.waitpid(order.worker, 0)[1])
        died = f"its process died (status {status}); see the log"
        with contextlib.suppress(ConnectionError):
            order.connection.sendall((order.reply or json.dumps(died).encode()) + b"\n")
        self._forget(order)

    def _end(self, order: _Order) -> None:
        if order.worker:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(order.worker, signal.SIGKILL)
            os.waitpid(order.worker, 0)
        self._forget(order)

    def _forget(self, order: _Order) -> None:
        self._waits.unregister(order.connection)
        if order.answer >= 0:
            self._waits.unregister(order.answer)
        order.close()
        self.orders.remove(order)


def serve(listener: socket.socket) -> None:
    """Answer orders until the standard input ends, or a signal ends this process; never returns."""
    server = _Server(listener)

    def leave(*_: object) -> None:
        Path(listener.getsockname()).unlink(missing_ok=True)
        server.end()
        os._exit(0)  # an orderly end of all that was imported takes a while, and the build would wait

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the owner; its end ends this
    signal.signal(signal.SIGTERM, leave)
    try:
        preload(server.answer)
        server.begin_late()
        server.until_end_of(sys.stdin.fileno())
    except BaseException:
        traceback.print_exc()
    leave()


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
