"""The channel on which a page's kernel answers."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import zmq
import zmq.asyncio
from jupyter_client.session import Session

from analysis.site.kernels.kernel import _ShellChannel


def test_shell_channel__answer_that_came_while_a_widget_sent_is_found(tmp_path: Path) -> None:
    async def ask() -> str:
        context = zmq.asyncio.Context()
        kernel, client = zmq.Context.shadow(context).socket(zmq.ROUTER), context.socket(zmq.DEALER)
        try:
            kernel.bind(f"ipc://{tmp_path / 'k'}")
            client.connect(f"ipc://{tmp_path / 'k'}")
            session = Session()
            channel = _ShellChannel(client, session)
            channel.send(session.msg("execute_request"))
            assert kernel.poll(5000)
            identity, *_ = kernel.recv_multipart()
            waits = asyncio.ensure_future(channel.get_msg())
            await asyncio.sleep(0.1)
            session.send(kernel, session.msg("execute_reply"), ident=[identity])
            time.sleep(0.1)  # no turn of the loop between the answer and what the widget sends
            channel.send(session.msg("comm_msg"))
            return str((await asyncio.wait_for(waits, 10))["msg_type"])
        finally:
            for socket in (kernel, client):
                socket.close(linger=0)
            context.term()

    assert asyncio.run(ask()) == "execute_reply"
