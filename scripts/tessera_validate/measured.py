"""Parts that measure speed: each says which machine it ran on, and whether that had other work."""

from dataclasses import dataclass
from pathlib import Path

from bench_runs import Bench
from page import ROOT, Runner, load_average, machine

# Load average above which figures per wall second mean little.
BUSY = 0.5


@dataclass
class Tools:
    root: Path
    program: str
    bench: Bench
    runner: Runner
    folder: Path


def measured(part):
    def sections(report, program, folder, setting):
        load = load_average()
        bench = Bench(Path(program).parent / "tessera-bench")
        part(report, Tools(ROOT, program, bench, Runner(program, folder), folder), setting)
        report.say(f"Machine: {machine()}. Load average of the last minute before the start: {load:.2f}.")
        report.say()
        if load > BUSY:
            warning = (f"The machine was busy (load average {load:.2f} > {BUSY}): figures per second, "
                       "above all per wall second, are too low.")
            print(f"warning: {warning}", flush=True)
            report.say(f"**{warning}**")
            report.say()
    return sections


def size_of(folder, pattern="**/*"):
    return sum(path.stat().st_size for path in Path(folder).glob(pattern) if path.is_file())
