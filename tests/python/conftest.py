"""What the tests share: a small experiment, and one run of it."""
import os
import pathlib

import pytest

import tessera as ts

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def small_machine(**keys):
    parts = {
        "topology": ts.topologies.Mesh(rows=2, columns=2, bandwidth="100 GB/s", latency="10 ns"),
        "tile": ts.Tile(peak={"fp16": "1 TFLOP/s"}, sram="64 KiB"),
        "dram": ts.Dram(at="edge", edges=["west"], bandwidth="50 GB/s", latency="100 ns")}
    return ts.Machine(**{**parts, **keys})


def small_experiment(**keys):
    parts = {
        "name": "small",
        "machine": small_machine(),
        "workload": ts.workloads.Transformer(layers=2, hidden=64, heads=4, sequence=16,
                                             vocabulary=64, batch=4),
        "strategy": ts.Strategy(pipeline=2, tensor=2),
        "options": ts.RunOptions(trace="full", bins=4, iterations=2)}
    return ts.Experiment(**{**parts, **keys})


@pytest.fixture
def repository():
    return REPOSITORY


@pytest.fixture
def program():
    return os.environ["TESSERA"]


@pytest.fixture
def experiment():
    return small_experiment()


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """A finished run on two ranks."""
    folder = tmp_path_factory.mktemp("runs") / "small"
    one = small_experiment(options=ts.RunOptions(trace="full", bins=4, iterations=2,
                                                 idle_ranks=False))
    return one.run(folder, ranks=2)
