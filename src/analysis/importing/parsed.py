"""What was read of a file is kept until its run is written, which compares the run's record with it."""

import contextlib
import os
import pickle
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.datasets.run import Read

_LARGEST = 1 << 20  # B of a file's datasets; it is quicker to read a larger file again than to fill the disk


@dataclass(frozen=True)
class ParsedFiles:
    """Datasets by the digest and the name of their file, in a folder that goes with the object.

    An import of 10,000 files holds none of them in memory: each process writes what it has read, and the
    one that writes the run reads it back. That takes a tenth of the time of parsing the file again. A
    process that does not see the folder, as one of Dask on another node, keeps and finds nothing.
    """

    folder: Path

    @classmethod
    def temporary(cls) -> "ParsedFiles":
        """Make an empty folder for the datasets of one import."""
        out = cls(Path(tempfile.mkdtemp(prefix="benchbook-import-")))
        weakref.finalize(out, _remove, out.folder, os.getpid())
        return out

    def put(self, digest: str, name: str, read: Sequence[Read]) -> None:
        """Keep what each engine read of a file, compressed to a fifth; nothing of a file that none knows.

        The name is a part of the key, because some formats are recognised by it.
        """
        if sum(ds.nbytes for one in read for ds in one.each) <= _LARGEST:
            with contextlib.suppress(OSError):  # a full disk costs time, and no run
                self._path(digest, name).write_bytes(zlib.compress(pickle.dumps(read), 1))

    def get(self, digest: str, name: str) -> Sequence[Read] | None:
        """Return what each engine read of a file, None if it was not kept whole.

        Only this import can write into the folder, so that what is unpickled is its own.
        """
        with contextlib.suppress(OSError, zlib.error):
            found: Sequence[Read] = pickle.loads(zlib.decompress(self._path(digest, name).read_bytes()))
            return found
        return None

    def _path(self, digest: str, name: str) -> Path:
        return self.folder / f"{digest}-{zlib.crc32(os.fsencode(name)):08x}"


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # and no child of it
        shutil.rmtree(folder, ignore_errors=True)
