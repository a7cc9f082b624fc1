"""A real Chromium, driven over its debugging protocol: opens pages, runs scripts in them, takes pictures."""

from __future__ import annotations

import base64
import itertools
import json
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any, Self

import websocket

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
_OPTIONS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync "
    "--hide-scrollbars --remote-debugging-port=0 --remote-allow-origins=*"
)

_FIRST_START = 300.0  # s


class Browser:
    """One page of a Chromium of its own; use it in a ``with``."""

    def __init__(self, profile: Path) -> None:
        self._process = subprocess.Popen(
            [str(CHROMIUM), *_OPTIONS.split(), f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        address = profile / "DevToolsActivePort"
        try:  # its first start reads 300 MB, which a busy disk takes minutes for
            self._wait(lambda: address.is_file() and len(address.read_text().split()) == 2, _FIRST_START)
        except AssertionError:
            self._process.kill()  # it would outlive the tests
            self._process.wait()
            raise
        with urllib.request.urlopen(f"http://127.0.0.1:{address.read_text().split()[0]}/json") as answer:
            page = next(one for one in json.load(answer) if one["type"] == "page")
        self._socket = websocket.create_connection(page["webSocketDebuggerUrl"], timeout=60)
        self._number = itertools.count(1)
        self.errors: list[str] = []
        self.call("Page.enable")
        self.call("Runtime.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait(20)

    @staticmethod
    def _wait(done: Any, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end, "the browser does not answer"
            time.sleep(0.05)

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        number = next(self._number)
        self._socket.send(json.dumps({"id": number, "method": method, "params": given}))
        while True:
            answer: dict[str, Any] = json.loads(self._socket.recv())
            if answer.get("method") == "Runtime.exceptionThrown":
                self.errors.append(json.dumps(answer["params"]["exceptionDetails"])[:400])
            if answer.get("id") == number:
                assert "error" not in answer, answer
                found: dict[str, Any] = answer["result"]
                return found

    def open(self, address: str) -> None:
        """Open an address and wait until it is loaded."""
        # A new fragment alone would not load the page again.
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        here = f"document.readyState === 'complete' && location.href.startsWith({json.dumps(address[:12])})"
        self._wait(lambda: self.run(here))

    def run(self, script: str) -> Any:
        """Run an expression in the page, wait for its promise, and return its value."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, condition: str) -> None:
        """Wait until an expression is true in the page."""
        self._wait(lambda: self.run(condition))

    def size(self, width: int, height: int) -> None:
        """Give the page a size in px."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def media(self, *, dark: bool = False, printed: bool = False) -> None:
        """Show the page as by night, or on paper."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media="print" if printed else "screen", features=features)

    def key(self, name: str) -> None:
        """Press a key."""
        code = {"Escape": 27, "Tab": 9, "Enter": 13, "ArrowDown": 40}[name]
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if name == "Enter" and kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, **text
            )

    def type(self, text: str) -> None:
        """Type a text where the focus is."""
        self.call("Input.insertText", text=text)

    def click(self, x: float, y: float) -> None:
        """Click at a place of the window."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, out: Path, *, whole: bool = False) -> None:
        """Write a picture of the window, or of the whole page."""
        found = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        out.write_bytes(base64.b64decode(found["data"]))
