"""`tessera plan` of services against brute force: every layout is searched to its end."""

import json
from dataclasses import dataclass

from page import call, launched

LEAST_POINTS = 60   # whose largest rate was searched, of a space
LEAST_REDUCED = 20
MOST_REGRET = 1.0   # %
WITHIN = "0.01"     # of a rate, both ways
HEAD = ("space", "layouts", "searched", "the best of them", "its layout", "of plan", "regret",
        "runs: all layouts", "plan", "processor seconds: all layouts", "plan")
KEYS = ("tensor", "pipeline", "replicas", "prefill", "batching.chunk")

MACHINE = ("{topology: {kind: cluster, nodes: NODES, accelerators: 8, nics: 8, "
           "switch: {bandwidth: 200 GB/s, latency: 250 ns}, nic: {bandwidth: 25 GB/s, latency: 1 us}, "
           "port: {bandwidth: 25 GB/s, latency: 1 us}, fabric: {kind: switch}}, "
           "tile: {peak: {fp16: 100 TFLOP/s}, sram: 1 MB, operands: dram}, "
           "dram: {at: each, bandwidth: 1000 GB/s, latency: 400 ns, capacity: 1 GB}, "
           "network: {model: analytical}, compute: {model: roofline}}")
MODEL = "{layers: 16, hidden: 1024, heads: 16, sequence: 4096, vocabulary: 32000}"
SMALLER = "{layers: 8, hidden: 512, heads: 8, sequence: 1024, vocabulary: 8000}"


@dataclass(frozen=True)
class Space:
    name: str
    requests: str
    target: str
    about: str
    servers: int = 8
    model: str = MODEL
    steps: str = "whole"

    def experiment(self):
        machine = MACHINE.replace("NODES", str(self.servers))
        return (f"name: {self.name}\nmachine: {machine}\nworkload:\n  kind: serving\n  steps: {self.steps}\n"
                f"  all_reduce: halving-doubling\n  tenants:\n    - name: chat\n      language_model: {self.model}\n"
                f"      batching: {{sequences: 4, chunk: 1024}}\n      router: least-work\n"
                f"      target: {self.target}\n      requests: {self.requests}\n")


SPACES = (
    Space("tokens", "{arrivals: poisson, rate: 500, count: 400, prompt: [16, 256], generate: [32, 128]}",
          "{between_tokens: 1 ms, latency: 60 ms}",
          "short prompts, many tokens, and targets for the time between tokens and for the whole latency"),
    Space("prompts", "{arrivals: poisson, rate: 200, count: 300, prompt: [512, 3072], generate: [4, 24]}",
          "{first_token: 15 ms, between_tokens: 2 ms}",
          "long prompts, few tokens, and a target for the first token"),
    Space("stages", "{arrivals: poisson, rate: 2000, count: 100, prompt: [64, 512], generate: [4, 12]}",
          "{first_token: 500 us, latency: 1800 us}", "pipeline stages, with steps that are walked layer by layer",
          servers=2, model=SMALLER, steps="walked"),
)


def searched(program, path, reduced, *more, ranks=1):
    """The rows of a search and its processor seconds."""
    fewer = ("--devices", "8", "--set", "workload.tenants.0.requests.count=40") if reduced else ()
    done = call(launched(ranks, [program, "plan", path, "-q", "--json", "--within", WITHIN, *fewer, *more]))
    return json.loads(done.stdout)["rows"], done.user_s + done.system_s


def row(report, program, folder, space, setting):
    path = folder / f"{space.name}.yaml"
    path.write_text(space.experiment(), encoding="utf-8")
    print(f"service {space.name}", flush=True)
    every, seconds = searched(program, path, setting.reduced, "--all")
    plan, plan_seconds = searched(program, path, setting.reduced)
    on_two, _ = searched(program, path, setting.reduced, ranks=2)
    report.bound(on_two == plan, f"{space.name}: the same on two ranks")
    rates = {tuple(each["values"].values()): each["rate"] for each in every}
    ends = [each for each in every if each["status"] in ("met", "late")]
    unlimited = sum(each["status"] == "unlimited" for each in every)
    report.bound(unlimited == 0, f"{space.name}: layouts that no rate limits: {unlimited}")
    best = every[0]
    # Both by the rate that brute force found for them.
    planned = rates[tuple(plan[0]["values"].values())]
    least = LEAST_REDUCED if setting.reduced else LEAST_POINTS
    layout = ", ".join(f"{key} {value}" for key, value in zip(KEYS, best["values"].values()))
    return (space.name, len(every), report.at_least(len(ends), least, f"{space.name}: layouts", "{:d}"),
            f"{best['rate']:.1f} a second", layout, f"{planned:.1f} a second",
            report.at_most(100 * (best["rate"] / planned - 1), MOST_REGRET, f"{space.name}: regret [%]",
                           "{:.2f}") + " %",
            sum(each["runs"] for each in every), sum(each["runs"] for each in plan),
            f"{seconds:.1f}", f"{plan_seconds:.1f}")


def sections(report, program, folder, setting):
    report.say("## Services against brute force")
    report.say()
    report.say("Layouts of a service over 64 devices (16 for `stages`) in servers of eight: devices per tensor "
               "group, stages, replicas, replicas for prompts alone, tokens per step. `tessera plan --all` searches "
               "for the largest rate that meets the targets for each of them, `tessera plan` tries most of them once, "
               f"at the best rate so far; both with `--within {WITHIN}`. Impossible layouts (more stages than layers, "
               "more shards than heads, stages with steps that are summed whole) are refused and not counted as "
               "searched. The regret is how far the rate of the layout that plan names is below the best, both as "
               "found by the search of all layouts. On two ranks, plan gives the same answer.")
    report.say()
    spaces = SPACES[:1] if setting.reduced else SPACES
    report.table(HEAD, [row(report, program, folder, space, setting) for space in spaces])
    for space in spaces:
        report.say(f"- `{space.name}`: {space.about}. Requests `{space.requests}`, targets `{space.target}`.")
    report.say()
