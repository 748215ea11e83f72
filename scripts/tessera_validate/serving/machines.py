"""Whole steps, the coarsest level, on every machine of configs/machines, beside the same steps walked."""

import subprocess

from page import ROOT, Runner, call

MACHINES = ROOT / "configs" / "machines"
REDUCED = ("h100_dgx", "palm_wafer", "onnxim_server")
# That cannot be served by one model as it is, with the reason.
LEFT_OUT = {"mixed_wafer": "tiles of several compute models", "dojo_d1": "20 MiB of SRAM and no DRAM: the caches do not fit"}
# Cores that walk have their memory as a channel here: banks of `dram` are no part of whole steps.
CORES = ("--set", "machine.memory={model: channel}")
# Whole to walked, least and most: of one tile, of two, of stages that meet; of cores. Times to the first token alike.
BANDS = {"one": (0.9999, 1.0001), "tensor": (0.95, 1.05), "stages": (0.5, 1.1)}
OF_CORES = (0.75, 1.2)
MODEL = "{{layers: 4, hidden: 512, heads: 8, sequence: {longest}, vocabulary: 1000, data_type: {type}}}"
REQUESTS = "{arrivals: poisson, rate: 2000, count: 10, prompt: [64, 512], generate: [4, 16]}"


def experiment_of(folder, machine, kind):
    path = folder / f"{machine}_{kind}.yaml"
    path.write_text(
        f"name: {machine}\nmachine: {MACHINES / machine}.yaml\nworkload:\n  kind: serving\n  tenants:\n    - name: chat\n"
        f"      language_model: {MODEL.format(type=kind, longest=640 if has_cores(machine) else 4096)}\n      requests: {REQUESTS}\nrun: {{trace: none}}\n",
        encoding="utf-8")
    return str(path)


def runs_at_all(runner, experiment, words):
    command = [str(runner.program), "check", experiment, *words]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def has_cores(machine):
    return "model: npu" in (MACHINES / f"{machine}.yaml").read_text(encoding="utf-8")


def words_of(machine, tensor, pipeline):
    cut = ("--set", f"workload.tenants.0.tensor={tensor}", "--set", f"workload.tenants.0.pipeline={pipeline}")
    return (*cut, *(CORES if has_cores(machine) else ()))


def ratio(runner, experiment, words):
    """Of the mean latency, whole to walked; and of most events, walked to whole."""
    whole = runner.run(experiment, 1, (*words, "--set", "workload.steps=whole"))
    walked = runner.run(experiment, 1, (*words, "--set", "workload.steps=walked"))
    one, other = whole["services"][0], walked["services"][0]
    return (one["latency_ps"]["mean"] / other["latency_ps"]["mean"],
            one["first_token_ps"]["mean"] / other["first_token_ps"]["mean"],
            walked["events"] / whole["events"], one["served"] == other["served"] == 10)


def sections(report, program, folder, setting):
    runner = Runner(program, folder)
    report.say("## Serving: whole steps on every machine")
    report.say()
    report.say("A small model (4 layers of 512) serves ten requests on each machine of `configs/machines`, with whole "
               "and with walked steps. Figures are ratios, whole to walked, of the mean latency and of the mean time "
               "to the first token. Machines of NPU cores (`onnxim_…`, `npu_wafer`) are one NPU here, with "
               "`machine.memory.model: channel` in both cases; with walked steps, cores combine operators differently "
               f"and fill waits with the next step ({OF_CORES[0]:g} to {OF_CORES[1]:g}). With two stages (`pipeline: "
               "2`) two steps are in flight together. They compete for shared channels, ports and links only when "
               "they are walked, as a note of the run says. One tile alone is held to 1e-4, two tiles with "
               "all-reduces on the machine's own network to 5 %.")
    report.say()
    rows = []
    for path in sorted(MACHINES.glob("*.yaml")):
        machine = path.stem
        if machine in LEFT_OUT or (setting.reduced and machine not in REDUCED):
            continue
        cuts = {"one": words_of(machine, 1, 1), "stages": words_of(machine, 1, 2), "tensor": words_of(machine, 2, 1)}
        found = [experiment_of(folder, machine, kind) for kind in ("bf16", "fp16")]
        fitting = [one for one in found if runs_at_all(runner, one, (*cuts["one"], "--set", "workload.steps=whole"))]
        if not fitting:
            call([str(program), "check", found[0], *cuts["one"], "--set", "workload.steps=whole"])
        experiment, cells = fitting[0], [machine]
        most_fewer = 0
        for name in ("one", "tensor", "stages"):
            cannot = name != "one" and has_cores(machine)
            if cannot or not runs_at_all(runner, experiment, cuts[name]):  # one accelerator cannot be cut
                cells += ["", ""]
                if name == "one":  # heads that cores do not hold where they walk
                    whole = runner.run(experiment, 1, (*cuts[name], "--set", "workload.steps=whole"))
                    served = report.bound(whole["services"][0]["served"] == 10, f"{machine}: all requests are served")
                    cells = [machine, f"whole alone (all served: {served})", ""]
                continue
            latency, first, fewer, served = ratio(runner, experiment, cuts[name])
            most_fewer = max(most_fewer, fewer)
            report.bound(served, f"{machine}, {name}: all requests are served")
            least, most = OF_CORES if has_cores(machine) else BANDS[name]
            held = report.bound(all(least <= one <= most for one in (latency, first)),
                                f"{machine}, {name}: whole to walked {latency:.4f}, first token {first:.4f}")
            cells += [f"{latency:.4f} ({held})", f"{first:.4f}"]
        rows.append((*cells, f"{most_fewer:.0f}" if most_fewer else ""))
    report.table(("machine", "one NPU: latency", "first token", "tensor 2: latency", "first token",
                  "two stages: latency", "first token", "most events, walked to whole"), rows)
    for machine, reason in LEFT_OUT.items():
        report.say(f"Left out: {machine} ({reason}).")
    report.say()
