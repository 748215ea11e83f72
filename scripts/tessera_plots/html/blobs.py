"""Arrays inside an HTML file: as bytes, compressed (RFC 1950) and in base 64, in a list of their own.

The report itself is JSON; where an array belongs stands {"blob": number, "type": "f8"}.
"""

import base64
import zlib

import numpy as np

_LOWEST = 1e-5  # of a share that has a code of its own


class Blobs:
    def __init__(self):
        self.texts = []

    def add(self, array):
        """The place of a one-dimensional array, which the file's program puts in its stead."""
        array = np.ascontiguousarray(array)
        kind = array.dtype.newbyteorder("<")
        self.texts.append(base64.b64encode(zlib.compress(array.astype(kind).tobytes(), 6)).decode())
        return {"blob": len(self.texts) - 1, "type": f"{array.dtype.kind}{array.dtype.itemsize}"}

    def add_numbers(self, values):
        """Whole numbers, most of them small: in LEB128, as the program reads them again."""
        place = self.add(leb128(np.asarray(values, np.uint64)))
        return {**place, "type": "leb128", "count": len(values)}


def leb128(values):
    """Seven bits a byte, the lowest first; the highest bit says that more follow."""
    lengths = np.ones(values.size, np.int64)
    for bits in range(7, 64, 7):
        lengths += values >= np.uint64(1) << np.uint64(bits)
    begins = np.cumsum(lengths) - lengths
    out = np.zeros(int(lengths.sum()), np.uint8)
    for k in range(int(lengths.max(initial=0))):
        some = lengths > k
        part = values[some] >> np.uint64(7 * k) & np.uint64(127)
        out[begins[some] + k] = part + np.where(lengths[some] > k + 1, 128, 0).astype(np.uint64)
    return out


def zigzag(values):
    """Signed numbers as whole ones, small ones small."""
    values = np.asarray(values, np.int64)
    return (values << 1 ^ values >> 63).astype(np.uint64)


def codes_of(shares):
    """A share of 0 to 1 as one byte: 0 for nothing, else 1 to 255 over five decades, a step 4.6 %."""
    shares = np.asarray(shares, float)
    with np.errstate(divide="ignore"):
        level = 1 + 254 * (1 - np.log10(np.maximum(shares, _LOWEST)) / np.log10(_LOWEST))
    return np.where(shares > 0, np.clip(np.rint(level), 1, 255), 0).astype(np.uint8)
