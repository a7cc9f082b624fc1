"""Executing notebooks through the server and without it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest

from analysis.site.kernels import ask
from analysis.site.kernels import server as server_module
from analysis.site.kernels.client import NotebookRun, call, request, start
from analysis.site.kernels.commit import commit

from .conftest import Write

CELLS = (
    ("parameters", "x = 1\nname = 'default'"),
    ("", "import os, sys, uuid, warnings\nimport matplotlib.pyplot as plt, pandas as pd, xarray as xr"),
    ("", "print('out'); print('err', file=sys.stderr); print('out again'); warnings.warn('careful')"),
    ("figure", "%config InlineBackend.figure_formats = ['svg']\nplt.plot([0, x]); plt.xlabel('time (s)');"),
    ("", "display(xr.Dataset({'a': ('t', [1.0, 2.0])}))\ndisplay(pd.DataFrame({'a': [1]}).style)\nobject()"),
    ("verdicts", "print(name, 6 * x, os.path.basename(os.getcwd()))"),
)


def texts(path: Path, tag: str) -> str:
    """Return what the cells of a tag printed."""
    cells = nbformat.read(path, as_version=4).cells
    tagged = [cell for cell in cells if tag in cell.metadata.get("tags", [])]
    return "".join(output.get("text", "") for cell in tagged for output in cell.outputs)


def page(notebook: Path, **options: Any) -> NotebookRun:
    base = notebook.parents[1]
    given: dict[str, Any] = {"out": "results/page.ipynb"} | options
    return NotebookRun(notebook=f"notebooks/{notebook.name}", cwd=str(base), **given)


@pytest.mark.slow
def test_pages__same_bytes_with_a_server_and_without(write: Write, server: Path) -> None:
    notebook = write(*CELLS)
    base = notebook.parents[1]
    parameters = {"x": 7, "name": "given"}
    for out, where in (("a", server), ("b", server), ("c", base / "none")):
        one = page(notebook, out=f"{out}.ipynb", figure=f"{out}.svg", parameters=parameters)
        assert request(one, base / f"{out}.log", server=where) == ""
    # 6 x 7, and the kernel works in the notebook's own folder as nbval's does.
    assert texts(base / "a.ipynb", "verdicts") == "given 42 notebooks\n"
    for other in "bc":
        assert (base / f"{other}.ipynb").read_bytes() == (base / "a.ipynb").read_bytes()
        assert (base / f"{other}.svg").read_bytes() == (base / "a.svg").read_bytes()
    figure = (base / "a.svg").read_text()
    assert figure.startswith("<svg")
    assert figure.endswith("</svg>\n")
    assert "time (s)" in figure


def test_pages__keep_neither_clock_nor_chance(write: Write, server: Path) -> None:
    notebook = write(*CELLS)
    assert request(page(notebook), os.devnull, server=server) == ""
    path = notebook.parents[1] / "results/page.ipynb"
    executed = nbformat.read(path, as_version=4)
    assert "papermill" not in executed.metadata
    assert "version" not in executed.metadata.language_info
    assert [cell.id for cell in executed.cells] == ["question", *(f"code-{n}" for n in range(len(CELLS)))]
    streams = executed.cells[3].outputs
    assert [(out.name, out.text.splitlines()[0]) for out in streams] == [("stdout", "out"), ("stderr", "err")]
    assert streams[0].text == "out\nout again\n"
    assert "<cell>:1: UserWarning: careful" in streams[1].text
    assert "<object at 0x0>" in path.read_text()


def test_pages__name_notebook_cell_and_exception(write: Write, server: Path) -> None:
    notebook = write(("parameters", "x = 1"), ("", "print(x)"), ("", "{}['lost']"), ("", "print('never')"))
    base = notebook.parents[1]
    fault = request(page(notebook, parameters={"x": 2}), base / "log", server=server)
    assert fault == (
        "notebooks/page.ipynb:cell 4: KeyError: 'lost'; what was reached is in results/page.failed.ipynb"
    )
    log = (base / "log").read_text()
    assert "{}['lost']" in log
    assert log.endswith(fault + "\n")
    assert not (base / "results/page.ipynb").exists()
    failed = nbformat.read(base / "results/page.failed.ipynb", as_version=4)
    printed = [out.text for cell in failed.cells for out in cell.get("outputs", []) if "text" in out]
    assert printed == ["2\n"]
    # Once it is mended, what the failure left goes.
    write(("parameters", "x = 1"))
    assert request(page(notebook), base / "log", server=server) == ""
    assert not (base / "results/page.failed.ipynb").exists()


def test_pages__survive_a_kernel_that_crashes(write: Write, server: Path) -> None:
    notebook = write(("", "1"), ("", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"))
    base = notebook.parents[1]
    fault = request(page(notebook), base / "log", server=server)
    assert fault.startswith("notebooks/page.ipynb:cell 3: the kernel died by signal 11; ")
    write(("", "1"))
    assert request(page(notebook), base / "log", server=server) == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"parameters": {"y": 1}}, "no parameter 'y' in its cell tagged parameters; known: x"),
        ({"figure": "page.svg"}, "no cell tagged figure has an SVG output; tag one, or give"),
    ],
)
def test_pages__refuse_what_the_notebook_does_not_have(
    write: Write, server: Path, options: dict[str, Any], said: str
) -> None:
    notebook = write(("parameters", "x = 1"), ("figure", "print('no figure')"))
    fault = request(page(notebook, **options), notebook.parent / "log", server=server)
    assert said in fault
    assert not (notebook.parents[1] / "results/page.ipynb").exists()


def test_pages__refuse_a_file_that_is_no_notebook(write: Write, server: Path) -> None:
    notebook = write(("", "1"))
    notebook.write_text('{"cells": [')
    fault = request(page(notebook), notebook.parent / "log", server=server)
    assert fault.startswith("notebooks/page.ipynb:1: not a notebook (")
    assert "\n" not in fault
    notebook.unlink()
    fault = request(page(notebook), notebook.parent / "log", server=server)
    assert fault == "notebooks/page.ipynb: no such notebook; check the name"


@pytest.mark.slow
def test_pages__server_ends_with_its_owner(tmp_path: Path) -> None:
    code = (
        "import os, sys, time\nfrom analysis.site.kernels.client import start\n"
        "context = start('s')\ncontext.__enter__()\n"
        "print('up', flush=True)\ntime.sleep(60)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert owner.stdout
    assert owner.stdout.readline() == "up\n"
    assert (tmp_path / "s").exists()
    owner.send_signal(signal.SIGKILL)  # no chance to tidy up
    owner.wait()
    owner.stdout.close()
    deadline = time.monotonic() + 60
    while (tmp_path / "s").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not (tmp_path / "s").exists()


def test_pages__stop_with_their_client(write: Write, server: Path) -> None:
    pid = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(300)"
    notebook = write(("", pid))
    code = "import sys\nfrom analysis.site.kernels import client\n"
    code += "client.request(client.NotebookRun(*sys.argv[1:3]), 'log', server=sys.argv[3])"
    client = subprocess.Popen([sys.executable, "-c", code, str(notebook), "out.ipynb", str(server)])
    deadline = time.monotonic() + 60
    file = notebook.parent / "pid"
    while not (file.exists() and file.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    kernel = int(file.read_text())
    client.kill()
    client.wait()
    while Path(f"/proc/{kernel}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not Path(f"/proc/{kernel}").exists()


def test_pages__second_server_leaves_the_first_alone(server: Path) -> None:
    with start(server):
        pass
    assert server.exists()


@pytest.mark.slow
def test_pages__commit_keeps_only_the_verdicts(write: Write) -> None:
    notebook = write(*CELLS)
    assert commit([notebook]) == []
    once = notebook.read_bytes()
    cells = [cell for cell in nbformat.read(notebook, as_version=4).cells if cell.cell_type == "code"]
    kept = [cell for cell in cells if cell.execution_count is not None]
    assert [cell.metadata.tags for cell in kept] == [["verdicts"]]
    assert [cell for cell in cells if cell.outputs] == kept
    assert kept[0].outputs[0].text == "default 6 notebooks\n"
    untagged = write(("", "1"), name="untagged.ipynb")
    (fault,) = commit([notebook, untagged], jobs=1)
    assert "no cell tagged verdicts" in fault
    assert notebook.read_bytes() == once


@pytest.mark.slow
@pytest.mark.parametrize("served", [True, False])
def test_pages__a_function_is_called_in_the_server_or_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Path, served: bool
) -> None:
    socket = server.resolve() if served else tmp_path / "none"
    socket = Path(os.path.relpath(socket, tmp_path))
    monkeypatch.chdir(tmp_path)
    assert call("builtins:print", {"sep": "", "end": "said"}, "log", server=socket) == ""
    assert Path("log").read_text() == "said"
    given = {"raw": "nowhere", "processed": "processed"}
    fault = call("analysis.cli.stages:ingest", given, "log", server=socket)
    assert fault.startswith("nowhere/runs: holds no run; ")
    assert Path("log").read_text() == f"{fault}\n"
    fault = call("analysis.cli.stages:ingest", {"raw": 1}, "log", server=socket)
    assert fault.startswith("ingest: TypeError: ")
    assert "Traceback" in Path("log").read_text()


def test_server__only_pages_wait_for_the_modules_of_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind("s")
        listener.listen()
        ours = server_module._Server(listener)
        orders = [
            {"prepared": prepared, "function": "builtins:print", "given": {}, "cwd": "."}
            for prepared in (True, False)
        ]
        clients = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in orders]
        with (tmp_path / "log").open("wb") as log:
            for client, order in zip(clients, orders, strict=True):
                client.connect("s")
                client.settimeout(30)
                socket.send_fds(client, [json.dumps(order).encode() + b"\n"], [log.fileno()])
        while len(ours.orders) < 2 or any(not one.text for one in ours.orders):
            ours.answer()
        assert [bool(one.worker) for one in ours.orders] == [False, True]
        while len(ours.orders) == 2:
            ours.answer()
        assert clients[1].recv(10) == b'""\n'
        ours.begin_late()
        while ours.orders:
            ours.answer()
        assert clients[0].recv(10) == b'""\n'
        for client in clients:
            client.close()


@pytest.mark.parametrize("words", [b"hello\n", b"[1]\n", bytes(range(256)) + b"\n", b'{"half', b""])
def test_server__what_is_no_order_costs_no_other_its_answer(
    server: Path, tmp_path: Path, words: bytes
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(str(server))
        client.sendall(words)
        with (tmp_path / "log").open("wb") as log:
            order = {"prepared": False, "function": "builtins:print", "given": {}, "cwd": "/"}
            assert ask(order, log.fileno(), str(server)) == ""  # None where no server answers
            wrong = {"before": "analysis.cli.stages:foreseen", "given": {"words": ["no stage"]}}
            assert "see the log" in str(ask(order | wrong, log.fileno(), str(server)))
            assert ask(order, log.fileno(), str(server)) == ""


@pytest.mark.parametrize("lack", ["fork", "pipe"])
def test_server__without_a_process_or_a_file_for_an_order_it_answers_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lack: str
) -> None:
    """`None` is the answer of no server: whoever asked then does it by itself."""
    monkeypatch.chdir(tmp_path)
    answers: list[str | None] = []

    def client() -> None:
        order = {"prepared": False, "function": "builtins:print", "given": {}, "cwd": "."}
        with (tmp_path / "log").open("wb") as log:
            answers.append(ask(order, log.fileno(), "s"))

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind("s")
        listener.listen()
        ours = server_module._Server(listener)
        for refused in (True, False):
            with monkeypatch.context() as patch:
                if refused:
                    patch.setattr(os, lack, lambda: (_ for _ in ()).throw(BlockingIOError(11, "no more")))
                asking = threading.Thread(target=client)
                asking.start()
                until = time.monotonic() + 30
                while asking.is_alive() and time.monotonic() < until:
                    ours.answer(0.05)
                asking.join(1)
    assert answers == [None, ""]


UNTOLD = (
    ("parameters", "x = 1"),
    ("", "class NotCoveredError(Exception): ...\nError = {'runs': NotCoveredError, 'fault': KeyError}"),
    ("", "raise Error[x]('two links of mine')"),
    ("answer", "print('never')"),
    ("figure", "print('never')"),
)


@pytest.mark.slow
def test_pages__a_derived_page_says_what_its_runs_cannot_tell(write: Write, server: Path) -> None:
    notebook = write(*UNTOLD)
    base = notebook.parents[1]
    one = page(notebook, out="a.ipynb", figure="a.svg", parameters={"x": "runs"}, derived=True)
    assert request(one, base / "log", server=server) == ""
    cells = nbformat.read(base / "a.ipynb", as_version=4).cells
    outputs = [(cell.metadata.get("tags"), out) for cell in cells for out in cell.get("outputs", [])]
    assert [(tags, out.data["text/markdown"]) for tags, out in outputs] == [
        (["answer"], "These runs cannot tell: two links of mine.")
    ]
    assert (base / "a.svg").read_text().startswith("<svg")
    assert "NotCoveredError" in (base / "log").read_text()


@pytest.mark.slow
def test_pages__a_fault_of_a_derived_page_is_shown_and_fails_no_build(write: Write, server: Path) -> None:
    notebook = write(*UNTOLD)
    base = notebook.parents[1]
    one = page(notebook, out="a.ipynb", figure="a.svg", parameters={"x": "fault"}, derived=True)
    assert request(one, base / "log", server=server) == ""
    cells = nbformat.read(base / "a.ipynb", as_version=4).cells
    assert [out.ename for cell in cells for out in cell.get("outputs", [])] == ["KeyError"]
    # A page that somebody asked for fails, as it always did.
    asked = page(notebook, out="b.ipynb", figure="b.svg", parameters={"x": "runs"})
    assert "NotCoveredError: two links of mine" in request(asked, base / "log", server=server)
