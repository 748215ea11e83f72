"""Prompts and tokens on replicas of their own beside replicas that do both, on a network that is loaded."""

import json

from page import EXPERIMENTS, ROOT, Runner, call

EXPERIMENT = EXPERIMENTS / "serving_apart.yaml"
TENANT = "workload.tenants.0"
RATE, REPLICAS = 40, 8
POOLS, SLOWER = (0, 2, 3, 4), (1, 4, 16)
APART, TOGETHER = 3, 0  # replicas that compute prompts alone
LOADS = (0, 0.5, 0.9)  # of a NIC's bandwidth, by each of its neighbours
SECONDS = 2.8  # of traffic: most of the time in which requests are served
MACHINES = ROOT / "configs" / "machines"
PORT = 35.1  # GB/s, as of configs/machines/h100_servers.yaml
FLIT, MESSAGE = 1 << 20, 16  # B, flits
REQUESTS, REDUCED = 800, 80
LONG = 10  # times as many, where a rate is to be kept up


def settings(**tenant):
    return [word for key, value in tenant.items() for word in ("--set", f"{TENANT}.{key.replace('__', '.')}={value}")]


def quantiles(service, key):
    return [f"{1e-9 * service[key][name]:.1f}" for name in ("p50", "p99")]


def total(summary):
    return summary["service_totals"][0]


def name_of(prefill):
    return f"{prefill} of {REPLICAS} compute prompts" if prefill else "all do both"


def row(name, summary):
    service = total(summary)
    return [name, service["served"], *quantiles(service, "first_token_ps"), *quantiles(service, "between_tokens_ps"),
            f"{100 * service['met'] / service['served']:.1f}", f"{service['met_per_s']:.1f}",
            f"{service['cost_a_million_tokens']:.2f}"]


HEAD = ("requests", "first token, median [ms]", "99 %", "between tokens, median [ms]", "99 %", "met targets [%]",
        "met a second", "cost of a million tokens")


def pools(report, runner, requests):
    report.say("### Pools")
    report.say()
    rows = []
    for prefill in POOLS:
        summary = runner.run(str(EXPERIMENT), 1, settings(prefill=prefill, requests__count=requests))
        rows.append(row(name_of(prefill), summary))
    report.table(("replicas", *HEAD), rows)
    apart, both = float(rows[2][5]), float(rows[0][5])
    held = report.bound(apart < both, f"99 % between tokens: apart {apart:.1f} ms, together {both:.1f} ms")
    report.say("Where replicas do both, a prompt chunk in a step delays every sequence that generates in that step. "
               "With separate replicas no token waits for a prompt, and the 99 % time between tokens is lower: "
               f"{held}.")
    report.say()


def networks(report, runner, requests):
    report.say("### A slower network")
    report.say()
    report.say("The same with three replicas that only compute prompts, and with replicas that all do both, on the "
               "network `flow`, in which transfers share links. NICs and cables have the stated fraction of their "
               "bandwidth. Steps are walked, so that all-reduces share the links of a server with keys and values.")
    report.say()
    rows, waits = [], {APART: [], TOGETHER: []}
    for part in SLOWER:
        for prefill, longest in waits.items():
            summary = on_slower_network(runner, requests, part, prefill=prefill)
            rows.append([f"1/{part}", *row(name_of(prefill), summary)])
            longest.append(total(summary)["between_tokens_ps"]["most"])
    report.table(("bandwidth between servers", "replicas", *HEAD), rows)
    apart, together = waits.values()
    held = report.bound(apart == sorted(apart) and apart[-1] > apart[0],
                        f"longest between tokens by bandwidth: {[f'{1e-9 * wait:.1f}' for wait in apart]} ms")
    report.say("With separate replicas the longest time between tokens, the one before the second token, grows as the "
               "network gets slower: " + arrows(apart) + f" ({held}).")
    held = report.bound(len(set(together)) == 1, f"together, longest between tokens: {arrows(together)}")
    report.say("Where all do both, nothing is sent between servers, and the time does not change: " + arrows(together) +
               f" ({held}).")
    report.say()


def arrows(times):
    return " → ".join(f"{1e-9 * time:.1f} ms" for time in times)


def beside_traffic(folder, load, prefill, requests):
    """Every second GPU of four servers serves; the others send over NICs that each shares with one that serves."""
    tenants = [{"name": "serve", "tiles": list(range(0, 32, 2)), "workload": {
        "kind": "serving", "all_reduce": "halving-doubling", "tenants": [{
            "name": "chat", "language_model": str(ROOT / "workloads/llama3_8b.yaml"), "tensor": 2, "replicas": REPLICAS,
            "prefill": prefill, "router": "least-work", "batching": {"chunk": 2048}, "price": 3,
            "target": {"first_token": "1 s", "between_tokens": "12 ms"},
            "requests": {"arrivals": "poisson", "rate": RATE, "count": requests, "prompt": [1024, 7000],
                         "generate": [64, 512]}}]}}]
    if load:
        cycle = FLIT / (1e9 * PORT)  # s
        tenants.append({"name": "noise", "tiles": list(range(1, 32, 2)), "workload": {
            "kind": "traffic", "flit_size": f"{FLIT} B", "message": MESSAGE, "cycle": f"{round(1e12 * cycle)} ps",
            "rate": load, "cycles": round(SECONDS / cycle)}})
    path = folder / f"apart-beside-{load}-{prefill}.yaml"
    path.write_text(json.dumps({"machine": str(MACHINES / "h100_servers.yaml"), "run": {"trace": "none"},
                                "workload": {"kind": "tenants", "tenants": tenants}}), encoding="utf-8")
    return path


def loads(report, runner, requests):
    report.say("### A loaded network")
    report.say()
    report.say("The same requests and replicas on every second GPU of four servers, in which two GPUs share a NIC and "
               f"its cable (network `flow`, steps walked). For {SECONDS} s the other GPUs send each other messages of "
               "16 MiB at random (`workload.kind: traffic`), at the stated fraction of a NIC's bandwidth.")
    report.say()
    rows, waits = [], {APART: [], TOGETHER: []}
    for load in LOADS:
        for prefill, longest in waits.items():
            path = beside_traffic(runner.folder, load, prefill, requests // 20)
            summary = runner.run(str(path), 1, ("--set", "machine.network={model: flow}", "--set",
                                                "machine.topology.nodes=4", "--set", "machine.topology.nics=4"))
            rows.append([load, *row(name_of(prefill), summary)])
            longest.append(total(summary)["between_tokens_ps"]["most"])
    report.table(("load", "replicas", *HEAD), rows)
    apart, together = waits.values()
    held = report.bound(apart == sorted(apart) and apart[-1] > apart[0],
                        f"longest between tokens by load: {arrows(apart)}")
    report.say("Transfers of keys and values share NICs with the traffic: with separate replicas the longest time "
               f"between tokens is {arrows(apart)} as the load rises ({held}). Where all do both, only all-reduces "
               f"meet the traffic, in a server's switch: {arrows(together)}.")
    report.say()


def by_layers(report, runner, requests):
    report.say("### Whole, or layer by layer")
    report.say()
    report.say("The same networks and requests, with keys and values sent either once the whole prompt has been "
               "computed or layer by layer while later layers are computed (`handover: layers`). The longest time "
               "between tokens is the one before the second token, which includes the transfer over the network.")
    report.say()
    rows, saved = [], []
    for part in SLOWER:
        longest = {}
        for handover in ("whole", "layers"):
            summary = on_slower_network(runner, requests, part, handover=handover)
            longest[handover] = total(summary)["between_tokens_ps"]["most"]
        saved.append(longest["whole"] - longest["layers"])
        rows.append((f"1/{part}", *(f"{1e-9 * time:.1f}" for time in longest.values()), f"{1e-9 * saved[-1]:.1f}"))
    report.table(("bandwidth between servers", "longest between tokens, whole [ms]", "by layers [ms]", "saved [ms]"), rows)
    held = report.bound(min(saved) >= 0, f"by layers, longest between tokens: {[f'{1e-9 * time:.1f}' for time in saved]} "
                        "ms less")
    report.say(f"Sending by layers takes no longer: {held}. Where the network is slower than the computation of "
               "prompts, at most the time of one step is hidden, and the wait for other transfers remains.")
    report.say()


def on_slower_network(runner, requests, part, **tenant):
    bandwidth = f"{PORT / part:.4f} GB/s"
    machine = ["--set", "machine.network={model: flow}"]
    for link in ("port", "fabric"):
        machine += ["--set", f"machine.topology.{link}.bandwidth={bandwidth}"]
    return runner.run(str(EXPERIMENT), 1, (
        *machine, "--set", "workload.steps=walked",
        *settings(requests__count=requests // 20, requests__rate=RATE, **tenant)))


def rates(report, program, requests):
    report.say("### The largest rate that meets the targets")
    report.say()
    found = json.loads(call([
        str(program), "capacity", str(EXPERIMENT), "--json", "-q", "--within", "0.05",
        *settings(requests__count=LONG * requests), "--over", f"{TENANT}.prefill=" + ",".join(map(str, POOLS))]).stdout)
    rows = [[one["values"][f"{TENANT}.prefill"], f"{one['rate']:.1f}", one["runs"],
             *(f"{1e-9 * one['services'][0][key]:.1f}" for key in ("first_token_p99_ps", "between_tokens_p99_ps")),
             f"{one['services'][0]['cost_a_million_tokens']:.2f}"] for one in found["rows"] if one["rate"] > 0]
    report.table(("compute prompts alone", "requests a second", "runs", "first token, 99 % [ms]",
                  "between tokens, 99 % [ms]", "cost of a million tokens"), rows)
    report.say(f"`tessera capacity`: nine of ten of {LONG * requests} requests have their first token within 1 s and "
               "a mean time between tokens of at most 12 ms. A rate that is too high is recognised by a growing "
               "queue, which with few requests could be a mere burst.")
    report.say()


def sections(report, program, folder, setting):
    runner = Runner(program, folder)
    requests = REDUCED if setting.reduced else REQUESTS
    report.say("## Serving: prompts and tokens apart")
    report.say()
    report.say("`configs/experiments/serving_apart.yaml`: Llama 3 8B on sixteen H100s, eight replicas of two GPUs. "
               "Either some replicas only compute prompts and first tokens (prefill) and send keys and values over "
               "the simulated network to replicas that generate (decode), or all replicas do both, with prompt chunks "
               "and tokens in the same steps. At the end of every run, the bytes sent are checked against the bytes "
               "that arrived.")
    report.say()
    pools(report, runner, requests)
    if not setting.reduced:
        networks(report, runner, requests)
        loads(report, runner, requests)
        by_layers(report, runner, requests)
        rates(report, program, requests)
