"""What requests cost at the coarsest level: a million of them to Llama 2 70B on 64 H100."""

from page import ROOT, Runner, call, summary_of, trace_rows

REPLICAS, GPUS = 8, 8
REQUESTS, REDUCED = 1_000_000, 8_000
MINUTES = 10
RATE = 8  # requests a second and replica: not far below what one can serve


def experiment(folder, layers, requests, steps="whole", stages=1):
    """Eight replicas, over a server each, or fewer with a server a stage; with other layers, to say what depth costs."""
    replicas, gpus = REPLICAS // stages, GPUS * stages
    model = (ROOT / "workloads" / "llama2_70b.yaml").read_text(encoding="utf-8")
    path = folder / f"llama_{layers}.yaml"
    path.write_text(model.replace("layers: 80 ", f"layers: {layers} "), encoding="utf-8")
    tenants = "".join(
        f"    - name: replica{replica}\n      language_model: {path}\n      tensor: {GPUS}\n      pipeline: {stages}\n"
        f"      npus: {[gpus * replica + gpu for gpu in range(gpus)]}\n"
        f"      requests: {{arrivals: poisson, rate: {RATE * stages}, count: {requests // replicas}, prompt: [64, 960], "
        "generate: [16, 384]}\n      batching: {chunk: 1024}\n" for replica in range(replicas))
    name = folder / f"million_{layers}_{requests}_{steps}_{stages}.yaml"
    name.write_text(
        f"name: million\nmachine: {ROOT / 'configs' / 'machines' / 'h100_servers.yaml'}\nworkload:\n"
        f"  kind: serving\n  steps: {steps}\n  all_reduce: halving-doubling\n  tenants:\n{tenants}", encoding="utf-8")
    return name


def row(what, summary, requests):
    services = summary["services"]
    tokens = sum(one["tokens"] for one in services)
    return (what, requests, f"{1e-12 * summary['simulated_time_ps']:.0f}", f"{1e-6 * tokens:.1f}",
            f"{summary['events'] / requests:.1f}", f"{summary['cpu_s']:.1f}",
            f"{1e6 * summary['cpu_s'] / requests:.0f}", f"{max(summary['peak_rss_bytes']) / 1e6:.0f}")


def counted(runner, path):
    """(summary, steps that gave a token) of a run with its trace: all but parts of prompts that stood alone."""
    output = runner.new_folder(path)
    call(runner.command(path, output, 1, ["-q", "-q", "--trace", "full"]))
    return summary_of(output), len({(row["tenant"], row["time"]) for row in trace_rows(output, "tokens")})


def events_a_step(report, runner, folder, walked, requests):
    """`walked`: the summary of as many requests, whose steps are those of the same with whole ones."""
    report.say("### Events a step")
    report.say()
    rows, steps = [], 0
    for layers in (20, 80):
        summary, steps = counted(runner, str(experiment(folder, layers, requests)))
        rows.append(("whole", layers, requests, steps, summary["events"], f"{summary['events'] / steps:.1f}"))
    rows.append(("walked", 80, requests, steps, walked["events"], f"{walked['events'] / steps:.1f}"))
    report.table(("steps", "layers", "requests", "steps that gave a token", "events", "events a step"), rows)
    few, many = (float(row[-1]) for row in rows[:2])
    same = report.bound(many <= 1.1 * few, f"events a step: {many} with 80 layers, {few} with 20")
    report.say("Steps are counted in the trace of a run with whole steps. Four times the layers take at most a tenth "
               f"more events per step: {same}. Events beyond one per step are arrivals of requests and steps with "
               "prompt chunks alone.")
    report.say()


def sections(report, program, folder, setting):
    runner = Runner(program, folder)
    requests = REDUCED if setting.reduced else REQUESTS
    report.say("## Serving: a million requests")
    report.say()
    report.say("Llama 2 70B on 64 H100s (`configs/machines/h100_servers.yaml`: compute `gemm`, network `analytical`): "
               f"{REPLICAS} replicas of {GPUS} GPUs, each with Poisson arrivals of {RATE} requests per second, "
               "prompts of 64 to 960 tokens, 16 to 384 generated, `steps: whole`. One rank, no trace. For comparison, "
               "the same with fewer requests, with a quarter of the layers, on one replica whose stages are the eight "
               "servers, and with walked steps.")
    report.say()
    whole = runner.run(str(experiment(folder, 80, requests)), 1, ("--trace", "none"))
    rows = [row(f"whole, {requests}", whole, requests)]
    if not setting.reduced:
        tenth = runner.run(str(experiment(folder, 80, requests // 10)), 1, ("--trace", "none"))
        shallow = runner.run(str(experiment(folder, 20, requests // 10)), 1, ("--trace", "none"))
        staged = runner.run(str(experiment(folder, 80, requests // 10, stages=REPLICAS)), 1, ("--trace", "none"))
        few = requests // 10_000
        walked = runner.run(str(experiment(folder, 80, few, "walked")), 1, ("--trace", "none"))
        rows += [row(f"whole, {requests // 10}", tenth, requests // 10),
                 row("whole, 20 layers", shallow, requests // 10),
                 row("whole, one replica of 8 stages", staged, requests // 10), row("walked", walked, few)]
    report.table(("steps", "requests", "simulated [s]", "million tokens", "events a request", "processor [s]",
                  "µs a request", "memory [MB]"), rows)
    if not setting.reduced:
        report.say("A step is one event, whatever the number of layers: the model with 20 layers has shorter steps, "
                   "each with fewer requests, so that it needs more of them. Arrivals are drawn as they occur. Beyond "
                   "what is in flight, a bounded amount of data is kept: up to a million times each of tokens and of "
                   "requests, and up to 4096 times of requests in each of 64 windows; further ones are only counted.")
        report.say()
        report.say("Processor minutes: "
                   + report.at_most(whole["cpu_s"] / 60, MINUTES, "processor minutes of a million requests", "{:.2f}")
                   + ".")
        report.say()
        events_a_step(report, runner, folder, walked, few)
