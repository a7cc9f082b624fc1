"""Profiles of the usual form as columns, by C that is compiled to WebAssembly.

``core.c`` knows only what a tool prints when nothing went wrong, and stops at anything else: the readers in
Python are the reference and read that file. ``core.wasm`` is the same on every machine, needs no compiler,
and cannot touch memory outside its own; `make core` compiles it. Where it cannot run there is no `instance`.
"""

import atexit
import ctypes
import importlib
import itertools
from functools import cache
from mmap import ACCESS_COPY, mmap
from pathlib import Path
from typing import IO, Any

import numpy as np

Array = np.ndarray[Any, Any]
SOURCE = Path(__file__).with_name("core.c")
PLACES = 22  # decimal places at most, either way
# So many bytes at a time stay in the processor's cache; a larger part gets the whole window.
STEP, WINDOW = 1 << 20, 8 << 20
# Files below this are read as fast without it.
LEAST = 4 << 20
MORE, NAME, IRREGULAR, RULE = range(4)
NAMES = 250  # calls at most
_NONE = np.empty(0)
_POWERS = np.array([float(f"1e{min(abs(bits - PLACES), PLACES)}") for bits in range(64)])


@atexit.register  # wasmtime cannot free its own once the interpreter has begun to end
def _forget() -> None:
    _module.cache_clear()


@cache
def _module() -> Any:
    """Return the compiled module and its engine; None without wasmtime, or where it cannot run."""
    try:
        wasmtime = importlib.import_module("wasmtime")
        engine = _engine(wasmtime)
        return wasmtime, engine, wasmtime.Module(engine, SOURCE.with_suffix(".wasm").read_bytes())
    except Exception:  # a wheel for another machine, a limit on addresses: each has its own error
        return None


def _engine(wasmtime: Any) -> Any:
    """Return an engine that keeps what it compiles in the user's cache, if it can be written."""
    try:
        config = wasmtime.Config()
        config.cache = True  # 70 ms of compiling and 17 MB for each process
        return wasmtime.Engine(config)
    except wasmtime.WasmtimeError:
        return wasmtime.Engine()


class Core:
    """One instance, for one file: its exported values and arrays by name."""

    def __init__(self, module: Any) -> None:
        wasmtime, engine, compiled = module
        self._store = wasmtime.Store(engine)
        self._exports = wasmtime.Instance(self._store, compiled, []).exports(self._store)
        memory = self._exports["memory"]
        address = ctypes.addressof(memory.data_ptr(self._store).contents)
        self._memory = np.frombuffer(
            (ctypes.c_uint8 * memory.data_len(self._store)).from_address(address), "u1"
        )
        self._starts: dict[str, int] = {}
        self.window = self.array("window", "u1", WINDOW)
        self.filled = 0

    def call(self, name: str, *arguments: int) -> int:
        """Call a function."""
        return int(self._exports[name](self._store, *arguments))

    def array(self, name: str, dtype: str, count: int) -> Array:
        """Return a view of an array's first values."""
        start = self._starts.get(name)
        if start is None:
            start = self._starts[name] = self._exports[name].value(self._store)
        return self._memory[start : start + count * np.dtype(dtype).itemsize].view(dtype)

    def value(self, name: str, dtype: str = "i4") -> int:
        """Return a number."""
        return int(self.array(name, dtype, 1)[0])

    def fill(self, stream: IO[bytes], upto: int) -> bool:
        """Read on into the window, up to so many bytes; whether there was anything."""
        before = self.filled
        while self.filled < upto:
            found = stream.readinto(memoryview(self.window.data)[self.filled : upto])  # type: ignore[attr-defined]
            if not found:
                break
            self.filled += found
        return self.filled > before

    def drop(self, count: int) -> None:
        """Leave out the first bytes of the window."""
        self.window[: self.filled - count] = self.window[count : self.filled].copy()
        self.filled -= count
        self.window[self.filled : self.filled + 32] = 0

    def wanted(self) -> bytes:
        """Return the call that the core met first."""
        start, length = self.value("wanted_at"), self.value("wanted_length")
        return self.window[start : start + length].tobytes()

    def register(self, code: int, name: bytes) -> None:
        """Give the core a call, the next one by number."""
        self.array("name_text", "u1", 64 * (code + 1))[64 * code :][: len(name)] = np.frombuffer(name, "u1")
        self.array("name_length", "i4", code + 1)[code] = len(name)
        self.array("name_count", "i4", 1)[0] = code + 1

    def texts(self) -> list[bytes]:
        """Return the texts that were met, by code."""
        ends = [0, *self.array("text_end", "i4", self.value("text_count")).tolist()]
        data = self.array("texts", "u1", ends[-1]).tobytes()
        return [data[start:end] for start, end in itertools.pairwise(ends)]


class Blocks:
    """A column that grows, in blocks that go back to the system as soon as they are joined.

    `narrow` integers have the least bytes that hold them.
    """

    def __init__(self, dtype: str, *, narrow: bool = False) -> None:
        self._dtype = np.dtype(dtype)
        self._narrow = narrow
        self._blocks: list[Array] = []
        self._length = 0

    def add(self, values: Array) -> None:
        """Take over some values."""
        while len(values):
            used = self._length % STEP
            if not used:
                self._blocks[-1:] = map(self._kept, self._blocks[-1:])
                self._blocks.append(_room(STEP, self._dtype))
            count = min(STEP - used, len(values))
            self._blocks[-1][used : used + count] = values[:count]
            self._length += count
            values = values[count:]

    def _kept(self, block: Array) -> Array:
        least, most = (int(block.min()), int(block.max())) if self._narrow else (0, 0)
        dtype = np.min_scalar_type(-1 - max(most, -1 - least)) if self._narrow else self._dtype
        if dtype == block.dtype:
            return block
        out = _room(len(block), dtype)
        out[:] = block
        return out

    def joined(self) -> Array:
        """Return all values, of memory that takes one if they are alike, and let go of the blocks."""
        rest = self._length - STEP * (len(self._blocks) - 1)
        self._blocks[-1:] = (self._kept(block[:rest]) for block in self._blocks[-1:])
        out = _room(self._length, np.result_type(*self._blocks) if self._blocks else self._dtype)
        for start in range(0, self._length, STEP):
            part = out[start : start + STEP]
            part[:] = self._blocks.pop(0)
        alike = len(out) and all((out[at : at + STEP] == out[0]).all() for at in range(0, len(out), STEP))
        return np.broadcast_to(out[:1].copy(), out.shape) if alike else out


def _room(count: int, dtype: np.dtype[Any]) -> Array:
    """Return an array that the system gets back with its last view; malloc keeps those below 32 MB."""
    return np.frombuffer(mmap(-1, max(count, 1) * dtype.itemsize, access=ACCESS_COPY), dtype, count)


def instance() -> Core | None:
    """Return a new instance; None where there is none."""
    module = _module()
    try:
        return Core(module) if module else None
    except Exception:  # no memory for it
        return None


def decoded(codes: Array, extra: Array = _NONE) -> Array:
    """Return the numbers that codes of the core stand for, to the last bit those that are printed.

    A code below 0 stands for a sum, in `extra`.
    """
    out = np.empty(len(codes))
    for at in range(0, len(codes), STEP):  # in the cache
        part = codes[at : at + STEP]
        places, mantissa = part & 63, (part >> 6).astype("f8")
        power = _POWERS[places]
        out[at : at + STEP] = np.where(places >= PLACES, mantissa / power, mantissa * power)
    if len(extra):
        sums = codes < 0
        out[sums] = extra[-1 - codes[sums]]
    return out
