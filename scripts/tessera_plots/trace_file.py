"""The trace of one rank, also of a run that was killed or is still going.

Only rows that the last good row of `/commit` covers are read: after a kill or a full disk the
extent of a table can lie.
"""

import os
import signal

os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")  # reading takes no lock, also not over NFS

import h5py  # after the setting it reads
import numpy as np

from .crc32c import crc32c
from .errors import PlotError
from .regular_file import check_regular

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_BLOCK_ROWS = 1 << 19
_PATIENCE_S = 30


def _text(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _is_closed(path):
    """Looks at the head of the file before HDF5 does, which does not come back from a file that ends
    inside it (superblock version 3, HDF5 file format specification, II.A)."""
    try:
        check_regular(path)
        with open(path, "rb") as file:
            head = file.read(48)
    except OSError as error:
        raise PlotError(f"{path}: {error.strerror}") from error
    if len(head) < 48 or not head.startswith(_SIGNATURE) or head[8] != 3:
        raise PlotError(f"{path}: is not a trace of Tessera")
    writing, appending = head[11] & 1, head[11] & 4
    size, stored = os.path.getsize(path), int.from_bytes(head[28:36], "little")
    if not writing and size < stored:
        raise PlotError(f"{path}: damaged: has {size} bytes instead of {stored}")
    if writing and not appending:
        raise PlotError(f"{path}: holds no rows: its writer ended while it created the file")
    return not writing


class TraceFile:
    """Tables of one rank. `trusted`: a manifest vouches for the file, so the commits are believed;
    otherwise the CRC-32C of the rows is compared with them first. `good`: how many rows of each
    table count, where not all committed ones do, for the run went on from before them."""

    def __init__(self, path, trusted, good=None):
        self.path = path
        self._good = good
        self.closed = _is_closed(path)
        try:
            self._open(trusted)
        except (OSError, KeyError, ValueError, RuntimeError) as error:
            raise PlotError(f"{path}: damaged: {self._first_line(error)}") from error

    def _open(self, trusted):
        self._watch()
        self._file = h5py.File(self.path, "r", libver="latest", swmr=True)
        self.attributes = {name: _text(value) for name, value in self._file.attrs.items()}
        if self.attributes.get("file_type") != "tessera-trace":
            raise PlotError(f"{self.path}: is not a trace of Tessera")
        version = self.attributes.get("format_version", "")
        if not version.startswith("1."):
            raise PlotError(f"{self.path}: has format version '{version}'; this program reads 1.x")
        log = self._file["commit"]
        self._tables = [_text(name) for name in log.attrs["tables"]]
        self._rows = dict.fromkeys(self._tables, 0)
        self.committed_ps = 0
        for commit in self._good_commits(log[:]):
            if not trusted and not self._is_met(commit):
                break
            self._rows = dict(zip(self._tables, (int(rows) for rows in commit["rows"])))
            self.committed_ps = int(commit["time"])
        self._rest()

    @staticmethod
    def _good_commits(commits):
        for commit in commits:
            row = commit.tobytes()
            if crc32c(row[:-4]) != int(commit["row_crc32c"]):
                return
            yield commit

    def _is_met(self, commit):
        crc = 0
        for table, end in zip(self._tables, commit["rows"]):
            first, end = self._rows[table], int(end)
            if end < first or end > self._file[table].shape[0]:
                return False
            for start in range(first, end, _BLOCK_ROWS):
                self._watch()
                crc = crc32c(self._file[table][start:min(start + _BLOCK_ROWS, end)].tobytes(), crc)
        return crc == int(commit["crc32c"])

    def rows(self, table):
        rows = self._rows.get(table, 0)
        return rows if self._good is None else min(rows, self._good.get(table, 0))

    def read(self, table, keep=None):
        """Committed rows as a structured array; `keep(rows)` gives a mask of those wanted."""
        if table not in self._rows:
            return np.empty(0)
        parts = [rows if keep is None else rows[keep(rows)] for rows in self.blocks(table)]
        return np.concatenate(parts) if parts else np.empty(0, self._type_of(table))

    def blocks(self, table):
        """Committed rows, so many at a time."""
        end = self.rows(table)
        for first in range(0, end, _BLOCK_ROWS):
            yield self._block(table, first, min(first + _BLOCK_ROWS, end))

    def _block(self, table, first, end):
        try:
            self._watch()
            rows = self._file[table][first:end]
            self._rest()
            return rows
        except (OSError, KeyError, RuntimeError) as error:
            raise PlotError(f"{self.path}: damaged: {self._first_line(error)}") from error

    def _type_of(self, table):
        try:
            return self._file[table].dtype
        except (OSError, KeyError, RuntimeError) as error:
            raise PlotError(f"{self.path}: damaged: {self._first_line(error)}") from error

    def _watch(self):
        """HDF5 may never come back from a damaged file that was not closed; the alarm ends the
        process, which scripts/plot reports."""
        if not self.closed and hasattr(signal, "alarm"):
            signal.alarm(_PATIENCE_S)

    def _rest(self):
        if hasattr(signal, "alarm"):
            signal.alarm(0)

    @staticmethod
    def _first_line(error):
        return str(error.args[0] if error.args else error).splitlines()[0]
