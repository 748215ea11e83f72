"""`tessera traffic`: points, files, words that are wrong; and the same load as the work of an experiment."""
import csv
import json

from program import HERE, check, expect, expect_refusal

MESH = HERE.parents[1] / "configs" / "traffic" / "mesh.yaml"
SHORT = ("--set", "traffic.sample=200", "--set", "traffic.rates=[0.1, 0.9]")


@check
def traffic_points(program):
    out = program.folder.parent / "points.json"
    done = program.call("traffic", MESH, *SHORT, "-o", out)
    expect(done.returncode == 0, done.stderr_text)
    report = json.loads(out.read_text())
    expect([point["status"] for point in report["points"]] == ["steady", "unstable"], str(report))
    expect(report["points"][0]["latency_least"] == 7, "seven cycles through one router")
    expect(0.08 < report["points"][0]["accepted_rate"] < 0.12, "accepted")
    csv = program.folder.parent / "points.csv"
    done = program.call("traffic", MESH, *SHORT, "-o", csv)
    expect(done.returncode == 0 and len(csv.read_text().splitlines()) == 3, done.stderr_text)
    # Any network can be asked.
    for model in ("packet", "analytical", "crossbar"):
        done = program.call("traffic", MESH, *SHORT, "--set", f"machine.network.model={model}")
        expect(done.returncode == 0, done.stderr_text)


@check
def traffic_measures_throughput(program):
    """Overload is what is offered beyond what is accepted, and not every load."""
    out = program.folder.parent / "throughput.json"
    done = program.call("traffic", MESH, *SHORT, "--set", "traffic.sample=1000", "--set",
                        "traffic.measure=throughput", "-o", out)
    expect(done.returncode == 0, done.stderr_text)
    found = [point["status"] for point in json.loads(out.read_text())["points"]]
    expect(found[0] != "overload" and found[1] == "overload", str(found))


@check
def a_light_load_is_no_overload(program):
    """What was drawn is less than the rate by chance."""
    out = program.folder.parent / "light.json"
    for seed in range(1, 5):
        done = program.call("traffic", MESH, "--set", "traffic.measure=throughput", "--set",
                            "traffic.rates=[0.005, 0.02]", "--set", f"traffic.seed={seed}", "-o", out)
        expect(done.returncode == 0, done.stderr_text)
        found = [point["status"] for point in json.loads(out.read_text())["points"]]
        expect("overload" not in found, f"seed {seed}: {found}")


@check
def a_long_message_is_no_deadlock(program):
    """What takes longer than a sample by itself moves all the time."""
    out = program.folder.parent / "long.json"
    for model in ("flit", "packet", "analytical"):
        done = program.call("traffic", MESH, "--set", f"machine.network.model={model}", "--set",
                            "traffic.message=1500", "--set", "traffic.rates=[0.01]", "-o", out)
        expect(done.returncode == 0, done.stderr_text)
        report = json.loads(out.read_text())
        expect(report["points"][0]["status"] == "unstable", f"{model}: {report['points']}")
        said = "a message of 1500 flits takes 1500 cycles on a link, more than traffic.latency_limit: any"
        expect(any(note.startswith(said) for note in report["notes"]), str(report["notes"]))
        done = program.call("traffic", MESH, "--set", f"machine.network.model={model}", "--set",
                            "traffic.message=1500", "--set", "traffic.rates=[0.01]", "--set",
                            "traffic.measure=throughput", "-o", out)
        report = json.loads(out.read_text())
        expect(report["points"][0]["status"] in ("steady", "not steady"), f"{model}: {report['points']}")


@check
def traffic_says_what_bends_it(program):
    out = program.folder.parent / "notes.json"

    def notes(*more):
        done = program.call("traffic", MESH, *SHORT, *more, "-o", out)
        expect(done.returncode == 0, done.stderr_text)
        found = json.loads(out.read_text())["notes"]
        for note in found:
            expect("note: " + note in done.stdout_text, done.stdout_text)
        return "\n".join(found)

    expect(notes() == "", notes())
    # Of eight flits each, some are sent while those before still leave.
    said = notes("--set", "machine.network.model=analytical", "--set", "traffic.message=8")
    expect("machine.network.virtual_channels has no effect with analytical" in said, said)
    expect("messages did not contend for links" in said, said)
    said = notes("--set", "machine.topology.latency=100 ns")
    expect("one stream gets at most" in said, said)


PARTS = {
    "memory": "{model: bandwidth}",
    "compute": "{model: systolic, array: [8, 8], clock: 1 GHz}",
    "dram": "{at: each, bandwidth: 10 GB/s, latency: 100 ns, capacity: 64 MB}",
    "remote_memory": "{kind: per-npu, latency: 100 ns, bandwidth: 10 GB/s}",
    "coherence": "{line: 128 B}",
    "framework": "{context: 1 MB}",
    "host": "{bandwidth: 10 GB/s}",
    "faults.nodes": "[{node: 0, speed: 0.5}]",
}


@check
def traffic_says_which_parts_have_no_effect(program):
    """Each of these parts of a machine changes nothing, for the command and for an experiment."""
    out = program.folder.parent / "parts.json"
    noise = program.folder.parent / "parts.yaml"
    machine = MESH.read_text(encoding="utf-8").split("traffic:\n")[0] + "  tile: {peak: {fp16: 1 TFLOP/s}}\n"
    noise.write_text(machine + "workload: {kind: traffic, rate: 0.1, cycles: 1000}\n", encoding="utf-8")

    def points(*more):
        done = program.call("traffic", MESH, *SHORT, "--set", "machine.tile={peak: {fp16: 1 TFLOP/s}}", *more, "-o", out)
        expect(done.returncode == 0, done.stderr_text)
        report = json.loads(out.read_text())
        for point in report["points"]:
            del point["cpu_s"]
        return report["points"], "\n".join(report["notes"])

    def run(*more):
        done = program.call("run", noise, "-q", "-q", *more, "-o", program.folder.parent / "parts")
        expect(done.returncode == 0, done.stderr_text)
        summary = json.loads((program.folder.parent / "parts" / "summary.json").read_text())
        return summary["result_digest"], "\n".join(summary["notes"])

    alone, ran = points(), run()
    expect("has no effect" not in alone[1] + ran[1], alone[1] + ran[1])
    for part, value in PARTS.items():
        for plain, found in ((alone, points("--set", f"machine.{part}={value}")),
                             (ran, run("--set", f"machine.{part}={value}"))):
            expect(found[0] == plain[0], part)
            expect(f"machine.{part} has no effect with" in found[1], found[1])


@check
def traffic_refusals(program):
    expect_refusal(program.call("traffic", MESH, "-o", "points.txt"), 2, "must end in .csv or .json")
    expect_refusal(program.call("traffic", MESH, "--set", "traffic.rates=[2]"), 2, "at most a message")
    expect_refusal(program.call("traffic", MESH, "--set", "traffic.rates=[]"), 2, "at least one rate")
    expect_refusal(program.call("traffic", MESH, "--set", "traffic.pattern=unifrom"), 2, "did you mean 'uniform'")
    expect_refusal(program.call("traffic", MESH, "--set", "traffic.sampel=3"), 2, "did you mean 'sample'")
    expect_refusal(program.call("traffic", MESH, "--set", "machine.topology.rows=4", "--set",
                                "traffic.pattern=transpose"), 2, "as many rows as columns")


@check
def traffic_is_work(program):
    """What the command finds in a steady state, a run of the same load finds, too."""
    out = program.folder.parent / "steady.json"
    done = program.call("traffic", MESH, "--set", "traffic.rates=[0.1]", "-o", out)
    expect(done.returncode == 0, done.stderr_text)
    steady = json.loads(out.read_text())["points"][0]
    noise = program.folder.parent / "noise.yaml"
    machine = MESH.read_text(encoding="utf-8").split("traffic:\n")[0]
    noise.write_text(machine + "  tile: {peak: {fp16: 1 TFLOP/s}}\n"
                     "workload: {kind: traffic, rate: 0.1, cycles: 6000}\n", encoding="utf-8")
    done = program.call("run", noise, "-q", "--json", "-o", program.folder.parent / "noise")
    expect(done.returncode == 0, done.stderr_text)
    measured = json.loads(done.stdout_text)["measured"][0]
    expect(measured["messages_sent"] == measured["messages_delivered"] > 30000, str(measured))
    expect(measured["latency_least_ps"] == 1000 * steady["latency_least"], str(measured))
    expect(abs(measured["latency_mean_ps"] / 1000 / steady["latency"] - 1) < 0.01, str((measured, steady)))
    shown = program.call("show", program.folder.parent / "noise")
    expect("latency p99" in shown.stdout_text and "accepted rate" in shown.stdout_text, shown.stdout_text)
    said = program.call("check", noise)
    expect("uniform, bernoulli" in said.stdout_text and "without a warm-up" in said.stdout_text, said.stdout_text)


@check
def sweeps_refuse_tenants_that_measure_nothing(program):
    """By names of those that do; where an axis gives others, points have what they measure."""
    (program.scratch / "two.yaml").write_text(
        MESH.read_text(encoding="utf-8").split("traffic:\n")[0] + "  tile: {peak: {fp16: 1 TFLOP/s}}\n"
        "workload:\n  kind: tenants\n  tenants:\n"
        "    - {name: noise, tiles: 0-3, workload: {kind: traffic, rate: 0.1, cycles: 500}}\n"
        "    - {name: sum, tiles: 4-7, workload: {kind: collective, collective: all-reduce, size: 1 kB}}\n", encoding="utf-8")
    sweep = program.scratch / "sweep.yaml"
    text = "experiment: two.yaml\naxes: {%s: [%s]}\nreport: [measured.%s.latency_mean_ps]\n"
    rate = ("workload.tenants.0.workload.rate", "0.1, 0.2")
    for tenant in ("noice", "sum"):
        sweep.write_text(text % (*rate, tenant), encoding="utf-8")
        expect_refusal(program.call("sweep", sweep, "-q", "-o", program.folder), 2,
                       "sweep.yaml:3:1: error: report: unknown column 'measured.%s.latency_mean_ps'; .*"
                       "measured.noise.latency_mean_ps" % tenant)
    for axis, tenant in ((rate, "noise"), (("workload.tenants.0.name", "noise, noice"), "noice")):
        sweep.write_text(text % (*axis, tenant), encoding="utf-8")
        done = program.call("sweep", sweep, "-q", "-o", program.folder)
        expect(done.returncode == 0, done.stderr_text)


@check
def sweeps_of_traffic_are_ranked_by_latency(program):
    """Its samples are no work of anybody's. All that is measured is a column."""
    noise = program.scratch / "noise.yaml"
    machine = MESH.read_text(encoding="utf-8").split("traffic:\n")[0]
    noise.write_text(machine + "  tile: {peak: {fp16: 1 TFLOP/s}}\n"
                     "workload: {kind: traffic, rate: 0.1, cycles: 500}\n", encoding="utf-8")
    done = program.call("run", noise, "-q", "--json", "-o", program.folder)
    names = ["measured." + name for name in json.loads(done.stdout_text)["measured"][0] if name != "tenant"]
    load = program.scratch / "load.yaml"
    text = "experiment: noise.yaml\naxes: {workload.rate: [0.4, 0.01, 0.2]}\nreport: [%s]\n" % ", ".join(names)
    for goal, said in (("", "best by smallest measured.latency_mean_ps"),
                       ("objective: {maximize: measured.accepted_rate}\n", "best by largest measured.accepted_rate")):
        load.write_text(text + goal, encoding="utf-8")
        done = program.call("sweep", load, "-q", "-o", program.scratch / ("by%d" % len(goal)))
        expect(done.returncode == 0 and said in done.stdout_text, done.stdout_text + done.stderr_text)
    with (program.scratch / "by0" / "sweep.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    expect(len(names) == 13 and len(rows) == 3 and all(row[name] for row in rows for name in names), rows)


@check
def rare_messages_of_bursts_are_checked_at_once(program):
    """Pauses and bursts between them are 10^7 a message."""
    rare = program.scratch / "rare.yaml"
    machine = MESH.read_text(encoding="utf-8").split("traffic:\n")[0]
    rare.write_text(machine + "  tile: {peak: {fp16: 1 TFLOP/s}}\n"
                    "workload: {kind: traffic, process: on-off, rate: 0.000000001, cycles: 1000000000000}\n",
                    encoding="utf-8")
    done = program.call("check", rare)
    expect(done.returncode == 0 and "on-off" in done.stdout_text, done.stderr_text)


@check
def traffic_tells_what_links_cannot_carry(program):
    """Many to one, and through the middle, on a network that shares at most the links at both ends."""
    hot = program.folder.parent / "hot.yaml"
    hot.write_text(
        "machine: {topology: {kind: stack, shape: Switch(16), dimensions: [{bandwidth: 32 GB/s, latency: 5 ns}]}, "
        "network: {model: analytical}}\n"
        "traffic: {pattern: hotspot, spots: [0], share: 1, process: bernoulli, message: 1, rates: [0.02, 0.5]}\n"
    )
    uniform = program.folder.parent / "uniform.yaml"
    uniform.write_text(
        "machine: {topology: {kind: mesh, rows: 16, columns: 16, bandwidth: 32 GB/s, latency: 5 ns}, "
        "network: {model: analytical}}\n"
        "traffic: {pattern: uniform, process: bernoulli, message: 1, rates: [0.02, 0.5]}\n"
    )
    out = program.folder.parent / "much.json"
    for file, ports, note in (
        (hot, "free", "by which they leave and enter nodes"),
        (hot, "shared", ""),
        (uniform, "free", "only among messages that leave by one link or arrive by one"),
        (uniform, "shared", "only among messages that leave by one link or arrive by one"),
    ):
        done = program.call("traffic", file, "--set", f"machine.network.ports={ports}", "-o", out)
        expect(done.returncode == 0, done.stderr_text)
        found = json.loads(out.read_text())
        expect([point["status"] for point in found["points"]] == ["steady", "unstable"], found)
        expect(note in "\n".join(found["notes"]), found["notes"])
