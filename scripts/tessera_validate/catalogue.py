"""The pages under results/, one a subject, and the parts that each is made of.

A part of a page is a function

    sections(report, program, folder, setting)

that writes its sections, headed `## ...`, into a page.Report, states its bounds there, and has
`folder` for its files. The part `full-wafer` of the page `wafers` is that of wafers/full_wafer.py.
"""

import importlib
from dataclasses import dataclass, field

from page import ROOT

RATES = ("rates are the best of several runs, since other activity on the machine can only slow a run down; "
         "medians are given too. Ratios come from runs in one process or from alternating runs, never from "
         "different days. CPU seconds are used on one rank, wall seconds wherever ranks wait for each other. "
         "Nothing else should run meanwhile; where something did, the part says so at its end.")


@dataclass(frozen=True)
class Page:
    name: str
    heading: str
    parts: tuple
    targets: tuple = ()  # of the build, beside the program
    scripts: dict = field(default_factory=dict)  # of parts that `scripts/validate` does not make
    # Parts that hold counts, digests and errors, and no time that a run takes: they may be made beside
    # others.
    counted: tuple = ()
    about: str = ""      # what is true of all parts
    file: str = ""       # under results/, where it has another name

    @property
    def path(self):
        return ROOT / "results" / (self.file or f"{self.name}.md")

    @property
    def command(self):
        return next(iter(self.scripts.values()))[0] if self.scripts else f"scripts/validate {self.name}"

    def command_of(self, part):
        return " ".join(self.scripts[part]) if part in self.scripts else f"{self.command} --part {part}"

    def module(self, part):
        return importlib.import_module(f"{self.name}.{part}".replace("-", "_"))

    def sections(self, part):
        return self.module(part).sections


PAGES = {page.name: page for page in (
    Page("digests", "Digests", ("cheap", "long", "wafer"), counted=("cheap", "long", "wafer"),
         about="The result of a run of each experiment, as the `result_digest` of its summary.json. It is "
               "bit-identical on any machine, on any number of ranks and with any partition; a change "
               "to a model changes it, and the row must then be regenerated."),
    Page("levels", "Levels hold each other",
         ("messages", "collectives", "clusters", "patterns", "graphs", "steps", "memory", "compute", "plans"),
         counted=("messages", "collectives", "clusters", "patterns", "graphs", "steps", "memory", "compute", "plans")),
    Page("conformance", "One work in several forms",
         ("plans", "cuts", "tenants", "collectives", "chips", "served"),
         counted=("plans", "cuts", "tenants", "collectives", "chips", "served"),
         about="The same work is run through each executor, and the summaries are compared. `equal` means to the "
               "picosecond and to the byte, for FLOPs and what is derived from them to 1e-9; anything else is "
               "the range of the ratios found, which a rule below the table explains and bounds. "
               "*FLOPs* are those of the model (`flops_per_iteration`), *FLOPs done* those of all tiles "
               "(`executed_flops_per_iteration`); bytes are of the whole run."),
    Page("collectives", "Collectives", ("closed-forms", "backends", "topologies", "nccl", "speed"),
         targets=("closed_forms",), counted=("closed-forms", "backends", "topologies", "nccl")),
    Page("training-clusters", "Training on clusters", ("measured", "published", "parameters", "memory",
                                                          "campaign", "systems"),
         counted=("measured", "published", "parameters", "memory", "campaign", "systems")),
    Page("operators", "Operators of GPUs", ("products", "vectors", "layers", "attention", "training"),
         targets=("gemm_rates", "attention_rates"),
         counted=("products", "vectors", "layers", "attention", "training")),
    Page("wafers", "Wafers and tiled accelerators",
         ("tiled", "published", "shipped", "full-wafer", "detail", "speed"), targets=("message_programs",),
         counted=("tiled", "published", "detail")),
    Page("npu", "NPU cores and their arrays", ("systolic", "cores", "models", "cycles", "llama", "ranks"),
         targets=("tessera-bench",), counted=("ranks",)),
    Page("serving", "Serving and tenants",
         ("requests", "tenants", "log", "million", "lines", "apart", "wafer", "experts", "kinds", "machines", "ranks",
          "refusals"),
         counted=("requests", "tenants", "log", "apart", "wafer", "experts", "kinds", "machines", "ranks", "refusals")),
    Page("dram", "DRAM", ("devices",), targets=("tessera-bench",)),
    Page("flit", "The flit network", ("routers",)),
    Page("flows", "Flows", ("simgrid", "speed"), targets=("network_tests", "tessera-bench"),
         counted=("simgrid",)),
    Page("remote-memory", "Remote memory: pools, coherent systems, CXL devices",
         ("pools", "systems", "ring", "workload", "devices"),
         counted=("pools", "systems", "ring", "workload", "devices")),
    Page("front-door", "The front door", ("spaces", "services", "times"),
         about="`tessera plan`: how good its answer is, and what it costs."),
    Page("ranks", "Ranks",
         ("wafer-training", "wafer-training-many", "full-wafer", "cluster", "tiles", "small", "digests",
          "shipped", "partitions", "threads", "policies", "prediction"), targets=("tessera-bench",), counted=("digests",),
         about=f"How `threads`, `policies` and `prediction` were measured: {RATES}"),
    Page("engine", "The engine", ("one-core", "idle", "tracing", "checkpoint"), targets=("tessera-bench",),
         about=f"How it was measured: {RATES}"),
    Page("soak", "Soak", ("trials", "damaged-files"),
         scripts={"trials": ("scripts/soak.sh",), "damaged-files": ("scripts/soak.sh", "onnx")}),
    Page("trust", "Trust", ("works", "fuzzers", "toolchains", "coverage", "mutation"),
         scripts={"works": ("scripts/soak.sh", "works"), "fuzzers": ("scripts/fuzz",),
                  "toolchains": ("scripts/toolchains",), "coverage": ("scripts/coverage",),
                  "mutation": ("scripts/mutate",)},
         about="What was tried to make the program fail, and how often. Every part names the program."),
)}
