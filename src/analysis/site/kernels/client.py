"""Sends an order to the build's warm process, or carries it out here if there is none."""

import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from analysis.site.kernels import ENVIRONMENT, SOCKET, ask


@dataclass(frozen=True, slots=True)
class NotebookRun:
    """A notebook to execute, and where its results go; paths are relative to `cwd`.

    The notebook's folder is the kernel's working folder, as in JupyterLab and nbval. `figure` gets the first
    SVG output of the cell tagged ``figure``, if one is named; `parameters` replace the defaults in the cell
    tagged ``parameters``. A `derived` page, which no configuration lists, may have too few runs: its answer
    is then that the campaign cannot tell.
    """

    notebook: str
    out: str
    figure: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    derived: bool = False
    cwd: str = field(default_factory=os.getcwd)

    @property
    def failed(self) -> Path:
        """Where the notebook goes if a cell fails."""
        return Path(self.cwd, self.out).with_suffix(".failed.ipynb")

    def record(self) -> dict[str, Any]:
        """Return the page as a dict of JSON's types."""
        return asdict(self)


def request(page: NotebookRun, log: str | Path, *, server: str | Path = SOCKET) -> str:
    """Execute a page in the server, or in one of its own; return its fault as one line, or nothing."""
    return call("analysis.site.kernels.execute:run", page.record(), log, server=server, prepared=True)


def call(
    function: str,
    given: dict[str, Any],
    log: str | Path,
    *,
    server: str | Path = SOCKET,
    prepared: bool = False,
) -> str:
    """Call ``module:function`` of the package in the server's process, or here; return its fault, or nothing.

    `given` has the arguments, of JSON's types. `log` is replaced by what is printed and, if the call fails,
    the traceback. If `prepared`, a server is started where there is none: what pages need must be set before
    Python starts.
    """
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    order = {"prepared": prepared, "function": function, "given": given, "cwd": str(Path.cwd())}
    with Path(log).open("wb") as stream:
        reply = ask(order, stream.fileno(), str(server))
        if reply is None and prepared:
            import tempfile  # not at every start of a stage

            with tempfile.TemporaryDirectory(prefix="benchbook-") as folder, start(Path(folder, "s")):
                reply = ask(order, stream.fileno(), f"{folder}/s")
    if reply is None:
        from analysis.site.kernels.server import run

        with (
            Path(log).open("w", encoding="utf-8") as text,
            contextlib.redirect_stdout(text),
            contextlib.redirect_stderr(text),
        ):
            reply = run(function, given)
    return reply


@contextlib.contextmanager
def start(path: str | Path = SOCKET) -> Iterator[None]:
    """Run a server while the context lasts, unless one listens there; it never outlives this process."""
    import subprocess  # not at every start of a stage

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
            [sys.executable, "-m", "analysis.site.kernels.server", str(number)],
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
