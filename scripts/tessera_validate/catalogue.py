"""The pages under results/, and the parts that each is made of.

A part of a page is a function

    sections(report, program, folder, setting)

that writes its sections, headed `## ...`, into a page.Report, states its bounds there, and has
`folder` for its files. It is that of the module PAGE_PART beside this one, or of the mapping PARTS in
the module that the page names.
"""

import importlib
from dataclasses import dataclass

from page import ROOT


@dataclass(frozen=True)
class Page:
    name: str
    heading: str
    parts: tuple
    targets: tuple = ()  # of the build, beside the program
    module: str = ""     # that has PARTS
    script: tuple = ()   # that makes it, where `scripts/validate` does not
    about: str = ""      # what is true of all parts
    file: str = ""       # under results/, where it has another name

    @property
    def path(self):
        return ROOT / "results" / (self.file or f"{self.name}.md")

    @property
    def command(self):
        return " ".join(self.script) or f"scripts/validate {self.name}"

    def sections(self, part):
        if self.module:
            return importlib.import_module(self.module).PARTS[part]
        return importlib.import_module(f"{self.name}_{part}").sections


PAGES = {page.name: page for page in (
    Page("digests", "Digests", ("cheap", "long", "wafer"), module="digests",
         about="What a run of each experiment comes to, as `result_digest` of its summary.json. It is the "
               "same to the bit on any machine, on any number of ranks and with any partition; a change "
               "of a model changes it, and then the row is to be made again."),
    Page("first-slice", "First slice", ("closed-forms", "parameters", "digests", "palm", "full-wafer"),
         targets=("closed_forms",), module="first_slice"),
    Page("levels", "Levels hold each other",
         ("messages", "collectives", "steps", "memory", "compute", "plans")),
    Page("conformance", "One work in several forms", ("plans", "cuts", "tenants", "collectives", "chips"),
         about="The same work through each executor, summary against summary. `equal` is to the picosecond "
               "and to the byte, of FLOPs and what follows from them to 1e-9; anything else is a ratio, the "
               "least and the most that were found, with a rule below that says why and bounds it. "
               "*FLOPs* are those of the model (`flops_per_iteration`), *FLOPs done* those of all tiles "
               "(`executed_flops_per_iteration`); bytes are of the whole run."),
    Page("tiles", "Tiles in detail", ("systolic", "dram", "flit", "npu", "wafer"),
         targets=("tessera-bench",)),
    Page("astra", "Every part of ASTRA-sim 2.0",
         ("reference", "tables", "training", "memory", "nccl", "speed")),
    Page("npu", "ONNX models on NPUs", ("models", "cycles", "llama", "serving", "tenants", "ranks")),
    Page("hcsim", "Every part of HCSim",
         ("flows", "figures", "optimized", "models", "devices", "speed"),
         targets=("network_simgrid_flows_test", "tessera-bench")),
    Page("palm", "Every part of PALM", ("clusters", "tiled", "tables", "speed"),
         targets=("message_programs",)),
    Page("front-door", "The front door", ("spaces", "times"), module="front_door", file="front_door.md",
         about="`tessera plan`: how good its answer is, and what it costs."),
    Page("ranks", "Ranks that pay",
         ("wafer_training", "full_wafer", "cluster", "tiles", "small", "digests")),
    Page("engine", "The engine",
         ("one-core", "idle", "ranks", "policies", "digests", "tracing", "checkpoint", "scale"),
         targets=("tessera-bench",), module="engine",
         about="How it was measured: rates are the best of several runs, since whatever else a machine "
               "does only slows a run down; medians stand beside them. Ratios come from runs in one "
               "process or in turns, never from another day. Processor seconds are used on one rank, "
               "wall seconds wherever ranks wait for each other. Nothing else should be started "
               "meanwhile; where something was, the part says so at its end."),
    Page("soak", "Soak", ("trials",), script=("scripts/soak.sh",)),
    Page("soak_onnx", "Damaged models and traces", ("files",), script=("scripts/soak.sh", "onnx")),
)}
