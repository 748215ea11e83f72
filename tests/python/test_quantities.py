"""Quantities are read as the program reads them."""
import subprocess

import pytest

from tessera import quantities

SAME = [("size", "4 KiB", 4096), ("size", "1.5kB", 1500), ("size", "2 GB", 2 * 10**9),
        ("bandwidth", "400 Gb/s", 50 * 10**9), ("bandwidth", "1 GiB/s", 2**30),
        ("time", "0.9 ns", 900), ("time", "3.2815 us", 3281500), ("time", "1 \u00b5s", 10**6),
        ("frequency", "1.1 GHz", 1100 * 10**6), ("operations", "3 GFLOP", 3 * 10**9),
        ("rate of operations", "368 TOPS", 368 * 10**12), ("size", "1e3 B", 1000)]
REFUSED = [("size", "4"), ("size", "4 KB/s"), ("size", "0.3 B"), ("time", "0.1 ps"),
           ("bandwidth", "many"), ("size", "-1 B"), ("time", "1 Ns"), ("size", "")]


@pytest.mark.parametrize("kind, text, value", SAME)
def test_value(kind, text, value):
    assert quantities.parse(text, kind) == value


@pytest.mark.parametrize("kind, text", REFUSED)
def test_refused(kind, text):
    with pytest.raises(ValueError, match="[a-z]"):
        quantities.parse(text, kind)


def test_letters_of_units_are_told_apart():
    with pytest.raises(ValueError, match="did you mean 'GB/s' or 'Gb/s'"):
        quantities.parse("4 gb/s", "bandwidth")


@pytest.mark.parametrize("value, number", [(0.5, 0.5), (1, 1.0), ("85 %", 0.85), ("100%", 1.0)])
def test_fraction(value, number):
    assert quantities.parse_fraction(value) == number


@pytest.mark.parametrize("value", [1.5, -0.1, "85", "120 %", True, None])
def test_no_fraction(value):
    with pytest.raises(ValueError, match="fraction|between"):
        quantities.parse_fraction(value)


def test_the_program_agrees(program, tmp_path):
    """What is refused here is refused there, and the other way round."""
    for kind, text in [(kind, text) for kind, text, _ in SAME] + REFUSED:
        if kind not in ("bandwidth", "time"):
            continue
        try:
            quantities.parse(text, kind)
            taken = True
        except ValueError:
            taken = False
        key = {"bandwidth": "bandwidth", "time": "latency"}[kind]
        link = {"bandwidth": "1 GB/s", "latency": "1 ns", key: text}
        path = tmp_path / "machine.yaml"
        path.write_text("topology: {kind: mesh, rows: 2, columns: 2, bandwidth: '%s', latency: '%s'}"
                        "\ntile: {peak: {fp16: 1 TFLOP/s}, sram: 64 KiB}\n"
                        % (link["bandwidth"], link["latency"]), encoding="utf-8")
        done = subprocess.run([program, "show", "--topology", path], capture_output=True,
                              check=False)
        assert (done.returncode == 0) == taken, (kind, text, done.stderr)
