"""A Jupyter kernel that is forked instead of started.

The kernel process is forked while this process has no threads and no sockets, and then waits for the name
of its connection file. It shares the parent's imports and nothing else; a notebook that crashes ends only
its own process.
"""

import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty
from typing import Any

from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.channels import AsyncZMQSocketChannel
from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase
from traitlets import Type

Signal = Callable[[int, int], None]
_LOOK = 1.0  # s


class ForkedKernel:
    """A process that becomes a kernel, with `cwd` as its folder, when it receives its connection file."""

    def __init__(self, cwd: str | Path) -> None:
        self.returncode: int | None = None
        # A build uses no start-up files and no history of the user.
        self.profile = tempfile.TemporaryDirectory(prefix="benchbook-kernel-", dir=_short_folder())
        read, self._write = os.pipe()
        self._listens, listens = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._write)
            os.close(self._listens)
            _become_kernel(read, listens, parent, str(cwd), self.profile.name)
        os.close(read)
        os.close(listens)

    def connect(self, connection_file: str) -> None:
        """Let the process continue as a kernel of this connection file; return when it listens, or has ended.

        A client that connects before the socket exists tries again only after a while.
        """
        os.write(self._write, connection_file.encode())
        os.close(self._write)
        self._write = -1
        os.read(self._listens, 1)

    def poll(self) -> int | None:
        """Return the exit status (negative: the signal), or None while the process runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def signal(self, signum: int) -> None:
        """Send a signal to the process and to what it has started."""
        if self.poll() is None:
            # It leads a group of its own, unless it has not executed its first instruction yet.
            send: Signal = os.killpg if os.getpgid(self.pid) == self.pid else os.kill
            send(self.pid, signum)

    def close(self) -> None:
        """End the process and remove its files."""
        if self._write >= 0:
            os.close(self._write)
            self._write = -1
        os.close(self._listens)
        if self.poll() is None:
            self.signal(signal.SIGKILL)
            _, status = os.waitpid(self.pid, 0)
            self.returncode = os.waitstatus_to_exitcode(status)
        self.profile.cleanup()


def _short_folder() -> str:
    # A socket's path may have 107 bytes, and a batch job's TMPDIR can be long.
    folder = tempfile.gettempdir()
    return folder if len(folder) < 60 else "/tmp"


def _become_kernel(read: int, listens: int, parent: int, cwd: str, profile: str) -> None:
    """Run the kernel in the forked process; never returns."""
    status = 1
    try:
        os.setpgid(0, 0)
        with os.fdopen(read, "rb") as pipe:
            connection_file = pipe.read().decode()
        if not connection_file:  # the parent ended first
            os._exit(0)
        os.chdir(cwd)
        from ipykernel.kernelapp import IPKernelApp

        app: Any = IPKernelApp.instance()
        arguments = [f"--f={connection_file}", f"--ipython-dir={profile}", "--HistoryManager.enabled=False"]
        app.initialize([*arguments, f"--IPKernelApp.parent_handle={parent}"])
        os.write(listens, b".")
        os.close(listens)
        app.start()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


class _ForkedProvisioner(KernelProvisionerBase):
    """Gives a kernel manager the process that was forked before."""

    kernel: ForkedKernel
    manager: Any
    alive = False

    @property
    def has_process(self) -> bool:
        return self.alive

    async def poll(self) -> int | None:
        return self.kernel.poll()

    async def wait(self) -> int | None:
        while (status := self.kernel.poll()) is None:
            await asyncio.sleep(0.01)
        self.alive = False
        return status

    async def send_signal(self, signum: int) -> None:
        self.kernel.signal(signum)

    async def kill(self, restart: bool = False) -> None:
        self.kernel.signal(signal.SIGKILL)

    async def terminate(self, restart: bool = False) -> None:
        self.kernel.signal(signal.SIGTERM)

    async def cleanup(self, restart: bool = False) -> None:
        pass

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        self.manager.write_connection_file()
        self.connection_info = self.manager.get_connection_info()
        return {**kwargs, "cmd": []}

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        self.kernel.connect(self.manager.connection_file)
        self.alive = True
        return self.connection_info


class _ShellChannel(AsyncZMQSocketChannel):
    """Looks again for an answer while it waits for one.

    A widget sends what it changes on this socket while a cell runs, past the event loop. An answer that comes
    at that moment wakes nobody: the usual channel would wait for ever.
    """

    async def get_msg(self, timeout: float | None = None) -> dict[str, Any]:  # type: ignore[override]
        """Return the next message; `Empty` after `timeout` s, which is never without it."""
        if timeout is not None:
            return await super().get_msg(timeout)
        while True:
            try:
                return await super().get_msg(_LOOK)
            except Empty:
                continue


class _Client(AsyncKernelClient):
    """Learns from the kernel when it is ready: the usual client waits for 0.2 s of silence."""

    shell_channel_class = Type(_ShellChannel)

    async def wait_for_ready(self, timeout: float | None = None) -> None:
        """Wait for an answer on both channels; RuntimeError if the kernel has ended or is too slow."""
        deadline = time.monotonic() + (60 if timeout is None else timeout)
        while time.monotonic() < deadline:
            asked = self.kernel_info()
            try:
                while not _ends(await self.get_iopub_msg(timeout=1), asked):
                    pass
                await self.get_shell_msg(timeout=1)
                return
            except Empty:  # it has ended, or its message came before this client listened
                if not await self.is_alive():
                    raise RuntimeError("the kernel died before it answered") from None
        raise RuntimeError("the kernel did not answer in time")


def _ends(message: dict[str, Any], asked: str) -> bool:
    """Tell whether a message is the last one of a request."""
    idle: bool = message["content"].get("execution_state") == "idle"
    return idle and message["parent_header"].get("msg_id") == asked


class ForkedKernelManager(AsyncKernelManager):
    """Kernel manager of a kernel that was forked before."""

    def __init__(self, forked: ForkedKernel, **kwargs: Any) -> None:
        # Sockets in the file system: a build opens no port.
        folder = Path(forked.profile.name)
        super().__init__(
            transport="ipc",
            ip=str(folder / "k"),
            connection_file=str(folder / "connection.json"),
            client_factory=_Client,
            **kwargs,
        )
        provisioner = _ForkedProvisioner(parent=self)
        provisioner.kernel, provisioner.manager = forked, self
        provisioner.kernel_id = "page"
        self.provisioner = provisioner
