"""Quantities as they stand in files: a number and its unit, "256 GB/s".

The units and the rules are those of the program: a quantity is a whole number of its base unit
(bytes, bytes a second, picoseconds, hertz, operations), and a bare number is an error.
"""

from __future__ import annotations

import re
from fractions import Fraction

_DECIMAL = {"": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def _decimal(*names: str) -> dict[str, Fraction]:
    return {prefix + name: Fraction(10) ** power
            for name in names for prefix, power in _DECIMAL.items()}


def _of_bytes(name: str) -> dict[str, Fraction]:
    units = _decimal(name)
    units["K" + name] = Fraction(1000)
    units |= {prefix + name: Fraction(2) ** power for prefix, power in _BINARY.items()}
    return units


def _of_bits(name: str) -> dict[str, Fraction]:
    return {unit: factor / 8 for unit, factor in _of_bytes(name).items()}


_TIME = {"ps": 0, "ns": 3, "us": 6, "\u00b5s": 6, "\u03bcs": 6, "ms": 9, "s": 12}

#: Units by type of key, in base units; the example that errors show.
_UNITS: dict[str, tuple[str, str, dict[str, Fraction]]] = {
    "size": ("a size", "4 KiB", _of_bytes("B")),
    "bandwidth": ("a bandwidth", "256 GB/s",
                  _of_bytes("B/s") | _of_bits("b/s") | _of_bits("bit/s")),
    "time": ("a time", "10 ns", {unit: Fraction(10) ** power for unit, power in _TIME.items()}),
    "frequency": ("a frequency", "1.1 GHz",
                  {unit: Fraction(10) ** power for unit, power in
                   {"Hz": 0, "kHz": 3, "MHz": 6, "GHz": 9, "THz": 12}.items()}),
    "operations": ("a number of operations", "3 GFLOP", _decimal("FLOP", "OP")),
    "rate of operations": ("a rate of operations", "16 TFLOP/s",
                           _decimal("FLOP/s", "FLOPS", "OP/s", "OPS")),
}
_NUMBER = re.compile(r"^([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d{1,3})?)\s*(.*)$")

#: Types whose values are texts with a unit.
TYPES = tuple(_UNITS)


def parse(text: str, kind: str) -> int:
    """The quantity in base units: B, B/s, ps, Hz, operations or operations a second.

    >>> parse("4 KiB", "size")
    4096

    Raises ValueError that says what is wrong.
    """
    name, example, units = _UNITS[kind]
    match = _NUMBER.match(text.strip())
    if match is None:
        raise ValueError(f"expected {name} such as '{example}'; got '{text}'")
    digits, unit = match[1], match[2].strip()
    if not unit:
        usual = example.split()[-1]
        raise ValueError(f"'{text}' has no unit; write e.g. '{digits} {usual}'")
    if unit not in units:
        alike = [known for known in units if known.lower() == unit.lower()]
        hint = ("did you mean '" + "' or '".join(alike) + "'?" if len(alike) > 1
                else f"did you mean '{alike[0]}'?" if alike else f"write e.g. '{example}'")
        raise ValueError(f"unknown unit '{unit}'; {hint}")
    value = Fraction(digits) * units[unit]
    if value < 0:
        raise ValueError(f"must not be negative; got '{text}'")
    if value.denominator != 1:
        raise ValueError(f"'{text}' is not a whole number of base units")
    return value.numerator


def parse_fraction(value: object) -> float:
    """A number from 0 to 1, or a text such as "85 %"."""
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*%\s*", value)
        if match is None:
            raise ValueError(f"expected a fraction such as 0.85 or '85 %'; got '{value}'")
        number = float(match[1]) / 100
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        number = float(value)
    else:
        raise ValueError(f"expected a fraction such as 0.85 or '85 %'; got {value!r}")
    if not 0 <= number <= 1:
        raise ValueError(f"must be between 0 and 1; got {value}")
    return number
