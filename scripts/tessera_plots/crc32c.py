"""CRC-32C (Castagnoli), as the trace and the manifest use it.

The standard library has none, so numpy computes the sums of many lanes of the data side by side and
joins them: the sum of A followed by B is shift(sum(A), length of B) xor sum(B), where `shift`
appends zero bytes and is linear over GF(2).
"""

import numpy as np

_POLYNOMIAL = 0x82F63B78  # reflected
_ONES = 0xFFFFFFFF
_LANE_BYTES = 256  # length of a lane; a power of two


def _byte_table():
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table.astype(np.uint32)


def _word_table(byte_table):
    """The effect of two zero bytes on each 16-bit state."""
    state = np.arange(65536, dtype=np.uint32)
    for _ in range(2):
        state = byte_table[state & 0xFF] ^ (state >> 8)
    return state


_BYTE = _byte_table()
_WORD = _word_table(_BYTE)
_POWERS = []  # tables of `shift` by 1, 2, 4, … bytes


def _apply(tables, state):
    return (tables[0][state & 0xFF] ^ tables[1][(state >> 8) & 0xFF]
            ^ tables[2][(state >> 16) & 0xFF] ^ tables[3][state >> 24])


def _power(exponent):
    """Four tables, one a byte of the state, that append 2**exponent zero bytes."""
    bytes_of_state = [np.arange(256, dtype=np.uint32) << np.uint32(8 * i) for i in range(4)]
    while len(_POWERS) <= exponent:
        if _POWERS:
            last = _POWERS[-1]
            _POWERS.append([_apply(last, table) for table in last])
        else:
            _POWERS.append([_BYTE[part & 0xFF] ^ (part >> 8) for part in bytes_of_state])
    return _POWERS[exponent]


def _shift(state, count):
    state = np.uint32(state)
    exponent = 0
    while count:
        if count & 1:
            state = _apply(_power(exponent), state)
        count >>= 1
        exponent += 1
    return int(state)


def _raw(data):
    """The sum without the usual inversions; leading zero bytes do not change it."""
    lanes = max(1, -(-data.size // _LANE_BYTES))
    lanes = 1 << (lanes - 1).bit_length()
    padded = np.zeros(lanes * _LANE_BYTES, dtype=np.uint8)
    padded[padded.size - data.size:] = data
    columns = np.ascontiguousarray(padded.view("<u2").reshape(lanes, -1).T)
    state = np.zeros(lanes, dtype=np.uint32)
    for column in columns:
        state = _WORD[(state & 0xFFFF) ^ column] ^ (state >> 16)
    exponent = _LANE_BYTES.bit_length() - 1
    while state.size > 1:
        state = _apply(_power(exponent), state[0::2]) ^ state[1::2]
        exponent += 1
    return int(state[0])


def crc32c(data, crc=0):
    """Sum of `data` (bytes or an array of bytes) as a continuation of `crc`."""
    data = np.frombuffer(data, dtype=np.uint8)
    if data.size == 0:
        return crc
    return _shift(crc ^ _ONES, data.size) ^ _raw(data) ^ _ONES


def crc32c_of_file(path):
    """Size and sum of a file."""
    crc = 0
    size = 0
    with open(path, "rb") as file:
        while block := file.read(8 << 20):
            crc = crc32c(block, crc)
            size += len(block)
    return size, crc
