"""Tessera from Python: machines, works and experiments with the names and checks of the YAML files,
runs of the program, and its results as tables.

    import tessera as ts

    experiment = ts.Experiment(
        name="first",
        machine=ts.Machine(
            topology=ts.topologies.Mesh(rows=4, columns=4, bandwidth="100 GB/s", latency="10 ns"),
            tile=ts.Tile(peak={"fp16": "16 TFLOP/s"}, sram="2 MiB"),
            dram=ts.Dram(at="each", bandwidth="100 GB/s", latency="100 ns")),
        workload=ts.workloads.Transformer(layers=4, hidden=256, heads=4, sequence=128,
                                          vocabulary=1024, batch=16),
        strategy=ts.Strategy(pipeline=4, tensor=2, data=2))
    run = experiment.run(progress=True)
    print(run.iteration_time_s, run.breakdown())

docs/python.md explains.
"""

from __future__ import annotations

from . import (arrivals, computes, memories, networks, remote_memories, schedulers, topologies,
               workloads)
from ._version import VERSION as __version__
from .errors import (ConfigError, Diagnostic, MissingError, ModelError, ProgramError, Stopped, TesseraError,
                     TraceError)
from .experiment import Check, Experiment, load
from .many import grid, run_many, summaries
from .parts import (Coherence, Dram, Execution, Faults, LanguageModel, Machine, RunOptions,
                    ServedOnnx, ServedTenant, Strategy, Tenant, Tile, TileType)
from .pictures import Picture
from .program import Progress, find_program, use_program
from .runs import Run, in_seconds

__all__ = [
    "Check", "Coherence", "ConfigError", "Diagnostic", "Dram", "Execution", "Experiment", "Faults",
    "LanguageModel", "Machine", "MissingError", "ModelError", "Picture", "ProgramError", "Progress", "Run",
    "RunOptions", "ServedOnnx", "ServedTenant", "Stopped", "Strategy", "Tenant", "TesseraError", "Tile",
    "TileType", "TraceError", "__version__", "arrivals", "computes", "find_program", "grid",
    "in_seconds", "load", "memories", "networks", "remote_memories", "run_many", "schedulers",
    "summaries", "topologies", "use_program", "workloads"]
