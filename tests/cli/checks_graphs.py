"""Runs of graphs, and what is said of graphs that cannot run."""
import sys

from program import HERE, check, expect, expect_refusal

sys.path.append(str(HERE.parents[1] / "scripts" / "tessera_validate"))
import chakra_writer as chakra

PAIR = """\
machine:
  name: pair
  topology: {{kind: stack, shape: Ring(2), dimensions: [{{bandwidth: 10 GB/s, latency: 1 us}}]}}
  tile: {{peak: {{fp16: 1 TFLOP/s}}}}
  network: {{model: {network}}}
workload: {{kind: chakra, traces: w}}
"""


def write_pair(program, first, second, network="analytical"):
    """An experiment of two traces; its path."""
    for number, trace in enumerate((first, second)):
        data = trace if isinstance(trace, bytes) else trace.data()
        (program.scratch / ("w.%d.et" % number)).write_bytes(data)
    experiment = program.scratch / "pair.yaml"
    experiment.write_text(PAIR.format(network=network), encoding="utf-8")
    return experiment


def traces(*makers):
    made = []
    for maker in makers:
        made.append(chakra.Trace())
        maker(made[-1])
    return made


@check
def exported_plan_runs_alike(program):
    plan = HERE / "short.yaml"
    done = program.call("run", plan, "-o", program.folder, "-q", "--set", "execution.times=model")
    expect(done.returncode == 0, done.stderr_text)
    done = program.call("export", plan, "--format", "chakra", "-o", program.scratch / "w")
    expect(done.returncode == 0, done.stderr_text)
    text = plan.read_text(encoding="utf-8")
    again = program.scratch / "again.yaml"
    again.write_text(text[:text.index("workload:")] +
                     "workload: {kind: chakra, traces: w, groups: w.json}\n"
                     "execution: {lanes: {memory: 0}}\n", encoding="utf-8")
    second = program.scratch / "second"
    for ranks in (1, 2):
        done = program.call("run", again, "-o", second, "-q", ranks=ranks)
        expect(done.returncode == 0, done.stderr_text)
        for key in ("simulated_time_ps", "messages", "packet_hops"):
            expect(program.summary(second)[key] == program.summary()[key],
                   "%s: %s instead of %s" % (key, program.summary(second)[key],
                                             program.summary()[key]))


@check
def exported_plans_keep_their_types(program):
    """Products in another type than the rest of the plan, at another rate; what states none is said."""
    machine = ("machine:\n  topology: {kind: mesh, rows: 1, columns: 2, bandwidth: 1 GB/s, latency: 1 us}\n"
               "  tile: {peak: {fp16: 10 TFLOP/s, fp32: 1 TFLOP/s, fp8: 20 TFLOP/s}}\n")
    plan = program.scratch / "types.yaml"
    plan.write_text(machine + "workload: {kind: transformer, layers: 2, hidden: 64, heads: 4, sequence: 32, vocabulary: "
                    "64, batch: 4, data_type: fp32, product_type: fp8}\nstrategy: {data: 2}\n", encoding="utf-8")
    done = program.call("run", plan, "-o", program.folder, "-q")
    expect(done.returncode == 0, done.stderr_text)
    done = program.call("export", plan, "--format", "chakra", "-o", program.scratch / "w")
    expect(done.returncode == 0, done.stderr_text)
    again = program.scratch / "again.yaml"
    again.write_text(machine + "workload: {kind: chakra, traces: w, groups: w.json}\n"
                     "execution: {lanes: {memory: 0}, collectives: {communicators: flat}}\n", encoding="utf-8")
    second = program.scratch / "second"
    done = program.call("run", again, "-o", second, "-q")
    expect(done.returncode == 0, done.stderr_text)
    for key in ("simulated_time_ps", "peak_flops_per_s"):
        expect(program.summary(second)[key] == program.summary()[key],
               "%s: %s instead of %s" % (key, program.summary(second)[key], program.summary()[key]))
    expect(not any("data type" in note for note in program.summary(second)["notes"]), program.summary(second)["notes"])
    # One that nobody stated is taken, and said, where it matters.
    trace = chakra.Trace()
    trace.compute("work", 10**6, 100, [])
    for npu in range(2):
        (program.scratch / ("v.%d.et" % npu)).write_bytes(trace.data())
    for setting, said in (((), True), (("--set", "execution.data_type=fp32"), False),
                          (("--set", "machine.tile.peak={fp16: 1 TFLOP/s}"), False)):
        other = program.scratch / "other.yaml"
        other.write_text(machine + "workload: {kind: chakra, traces: v}\n", encoding="utf-8")
        done = program.call("run", other, "-o", second, "-q", *setting)
        expect(done.returncode == 0, done.stderr_text)
        notes = program.summary(second)["notes"]
        expect(said == ("work that states no data type is assumed to be in fp16 (execution.data_type)" in notes), notes)
    expect_refusal(program.call("run", again, "-o", second, "-q", "--set", "machine.tile.peak={fp32: 1 TFLOP/s}"), 2,
                   "its graphs compute, in fp8, but machine.tile.peak has no rate for that")


@check
def export_makes_folders(program):
    prefix = program.scratch / "some" / "where" / "w"
    done = program.call("export", HERE / "short.yaml", "--format", "chakra", "-o", prefix)
    expect(done.returncode == 0, done.stderr_text)
    expect(prefix.with_suffix(".0.et").exists() and "note:" not in done.stdout_text, done.stdout_text)
    line = program.call("export", HERE / "short.yaml", "--format", "chakra", "-o", prefix, "--set",
                        "strategy.collectives.tensor=line")
    expect("note: strategy.collectives.tensor is not in execution traces" in line.stdout_text, line.stdout_text)
    done = program.call("run", HERE / "short.yaml", "-o", program.folder, "-q")
    expect(done.returncode == 0, done.stderr_text)
    timeline = program.scratch / "an" / "other" / "t.json.gz"
    done = program.call("export", program.folder, "-o", timeline)
    expect(done.returncode == 0 and timeline.exists(), done.stderr_text)
    done = program.call("export", program.folder, "-o", timeline)
    expect(done.returncode == 0, done.stderr_text)
    notes = program.scratch / "notes.yaml"
    notes.write_text("name: mine\n", encoding="utf-8")
    expect_refusal(program.call("export", program.folder, "-o", notes), 2, "did not write it")
    expect(notes.read_text(encoding="utf-8") == "name: mine\n", "it is another file now")
    expect_refusal(program.call("export", program.folder, "-o", timeline / "below" / "t.json.gz"), 74,
                   "cannot make the folder")
    expect_refusal(program.call("export", program.folder, "--format", "chakra", "-o", prefix), 2,
                   "a folder, and execution traces are of an experiment")


@check
def export_refuses_options_of_the_other_format(program):
    plan, traces, timeline = HERE / "short.yaml", program.scratch / "mixed" / "w", program.scratch / "mixed.json.gz"
    for words in (["--stage", "0"], ["--tile", "3"], ["--from", "1 ms"], ["--to", "1 ms"], ["--limit", "3"]):
        expect_refusal(program.call("export", plan, "--format", "chakra", "-o", traces, *words), 2,
                       "^error: %s is for the timeline of a run, not for --format chakra" % words[0])
    done = program.call("run", plan, "-o", program.folder, "-q")
    expect(done.returncode == 0, done.stderr_text)
    for words in (["--tenant", "foo"], ["--set", "a=b"]):
        for chosen in ([], ["--format", "chrome"]):
            expect_refusal(program.call("export", program.folder, "-o", timeline, *chosen, *words), 2,
                           "^error: %s is for --format chakra" % words[0])
    expect(not traces.parent.exists() and not timeline.exists(), "something was written")


RING = """\
machine:
  name: ring
  topology: {kind: stack, shape: Ring(4), dimensions: [{bandwidth: 10 GB/s, latency: 1 us}]}
  network: {model: packet}
workload: {kind: collective, collective: all-reduce, size: 4 MB}
execution: {collectives: {local_memory: 100 GB/s, PROGRAMS}}
"""


@check
def vertices_go_in_the_order_of_the_file(program):
    """Also those that wait for others elsewhere; and nobody waits for the messages that tell others."""
    graph = program.scratch / "graph.yaml"
    graph.write_text("""
machine:
  topology: {kind: stack, shape: FC(2), dimensions: [{bandwidth: 100 GB/s, latency: 500 ns}]}
  tile: {peak: {fp16: 1 TFLOP/s}}
  network: {model: analytical}
workload:
  kind: graph
  vertices:
    - {name: far, at: 0, flops: 1 MFLOP, start: true}
    - {name: near, at: 1, flops: 3 MFLOP, start: true}
    - {name: first, at: 1, flops: 1 MFLOP}
    - {name: second, at: 1, flops: 5 MFLOP}
    - {name: last, at: 0, flops: 10 MFLOP}
  edges: [{from: far, to: first}, {from: near, to: second}, {from: first, to: last}]
""", encoding="utf-8")
    for settings, wanted in (([], 14_500_000),
                             # `both` begins at 0 when `far` has ended, however long the message to 1 takes.
                             (["--set", "workload.vertices=[{name: far, at: 0, flops: 1 MFLOP, start: true}, "
                               "{name: both, at: [0, 1], flops: 3 MFLOP}, {name: end, at: 0, flops: 10 MFLOP}]",
                               "--set", "workload.edges=[{from: far, to: both}, {from: both, to: end}]",
                               "--set", "execution.sends=delivered"], 14_000_000)):
        done = program.call("run", graph, "-o", program.folder, "-q", "-q", *settings)
        expect(done.returncode == 0, done.stderr_text)
        expect(program.summary()["simulated_time_ps"] == wanted, program.summary()["simulated_time_ps"])


LINE = """
machine:
  topology: {kind: mesh, rows: 1, columns: 4, bandwidth: BANDWIDTH, latency: 100 ns}
  tile: {peak: {fp16: 1 TFLOP/s}}
  network: {model: analytical}
workload:
  kind: graph
  vertices:
    - {name: a, start: true, from: 0, to: 2, bytes: BYTES}
    - {name: b, start: true, from: 1, to: 3, bytes: BYTES}
"""


@check
def links_that_are_first_for_some_and_last_for_others_are_noted(program):
    graph = program.scratch / "line.yaml"
    graph.write_text(LINE.replace("BANDWIDTH", "100 GB/s").replace("BYTES", "100 MB"), encoding="utf-8")
    said = "the link from tile (0,1) to tile (0,2) would have been busy for 2 ms"
    for model, noted in (("analytical", True), ("{model: analytical, ports: shared}", True), ("packet", False)):
        done = program.call("run", graph, "-o", program.folder, "-q", "-q", "--set",
                            "machine.network=%s" % (model if "{" in model else "{model: %s}" % model))
        expect(done.returncode == 0, done.stderr_text)
        notes = program.summary()["notes"]
        expect(any(said in note for note in notes) == noted, (model, notes))


@check
def flows_take_as_long_as_they_take(program):
    """Half of what simulated time holds, and more than that is an error."""
    graph = program.scratch / "line.yaml"
    graph.write_text(LINE.replace("BANDWIDTH", "1 MB/s").replace("BYTES", "2.5 TB"), encoding="utf-8")
    done = program.call("run", graph, "-o", program.folder, "-q", "-q", "--set", "machine.network={model: flow}")
    expect(done.returncode == 0, done.stderr_text)
    expect(abs(program.summary()["simulated_time_ps"] / 5e18 - 1) < 1e-6, program.summary()["simulated_time_ps"])
    graph.write_text(LINE.replace("BANDWIDTH", "1 MB/s").replace("BYTES", "25 TB"), encoding="utf-8")
    done = program.call("run", graph, "-o", program.folder, "-q", "-q", "--set", "machine.network={model: flow}")
    expect(done.returncode in (2, 3), done.stderr_text)


@check
def collective_of_traces_takes_the_time_of_its_algorithm(program):
    """A ring of sends, receives and additions, written for a tenth of the vector."""
    for member in range(4):
        trace, last = chakra.Trace(), None
        for step in range(6):
            trace.message("s%d" % step, chakra.SEND, (member + 1) % 4, 100000, [last])
            last = trace.message("r%d" % step, chakra.RECEIVE, (member + 3) % 4, 100000, [last])
            if step < 3:
                last = trace.compute("add", 0, 0, [last])
        (program.scratch / ("ring.%d.et" % member)).write_bytes(trace.data())
    collective = program.scratch / "ring.yaml"
    collective.write_text("collective: all-reduce\nmembers: 4\ntraces: ring\nsize: 400 kB\n",
                          encoding="utf-8")
    experiment = program.scratch / "ring_run.yaml"

    def time_with(programs, ranks=1):
        experiment.write_text(RING.replace("PROGRAMS", programs), encoding="utf-8")
        done = program.call("run", experiment, "-o", program.folder, "-q", ranks=ranks)
        expect(done.returncode == 0, done.stderr_text)
        return program.summary()["simulated_time_ps"], program.summary()["result_digest"]

    built_in, _ = time_with("algorithms: [ring]")
    ours = [time_with("programs: [ring.yaml]", ranks) for ranks in (1, 2)]
    expect(ours[0] == ours[1], "%s on one rank, %s on two" % tuple(ours))
    # The time of an addition is cut to a whole picosecond for other bytes than the message's.
    expect(abs(ours[0][0] - built_in) <= 6, "%d instead of %d" % (ours[0][0], built_in))
    (program.scratch / "ring.3.et").unlink()
    expect_refusal(program.call("run", experiment, "-o", program.scratch / "none"), 2,
                   r"ring\.3\.et")


@check
def graphs_that_cannot_run(program):
    def both(trace):
        trace.collective("c", chakra.ALL_REDUCE, 100, [])

    def refused(first, second, pattern):
        expect_refusal(program.call("run", write_pair(program, first, second), "-o", program.folder),
                       2, pattern)
        expect(not program.folder.exists(), "something was written")

    good, other = traces(both, both)
    data = good.data()
    refused(data[:-3], other, r"w\.0\.et: error: message 1 at byte \d+: it should have \d+ bytes")
    refused(b"", other, r"w\.0\.et: error: is empty")
    refused(data + b"\x05abcde", other, r"w\.0\.et: error: message \d+ at byte %d" % len(data))
    dangling, = traces(lambda trace: trace.compute("x", 5, 0, [7]))
    refused(dangling, dangling, r"w\.0\.et: node 0 at byte \d+: depends on node 7, which is not")
    missing = chakra.Trace()
    refused(good, missing, r"w\.1\.et: has 0 collectives of all NPUs, .*w\.0\.et has more; .* node 0")
    alone, nobody = traces(lambda trace: trace.message("s", chakra.SEND, 1, 10, []),
                           lambda trace: trace.compute("x", 5, 0, []))
    refused(alone, nobody, r"w\.0\.et: node 0 at byte \d+: NPU 0 sends 1 messages .* receives 0")
    sent, = traces(lambda trace: trace.message("s", chakra.SEND, 1, 10, []))
    other, = traces(lambda trace: trace.message("r", chakra.RECEIVE, 0, 20, []))
    refused(sent, other, r"w\.1\.et: node 0 at byte \d+: what NPU 1 receives .* is 20 B, but .* 10 B")
    (program.scratch / "w.1.et").unlink()
    expect_refusal(program.call("check", program.scratch / "pair.yaml"), 2,
                   r"pair\.yaml:6:\d+: error: .* traces of 1 NPUs .* machine has 2")


@check
def all_to_alls_of_sizes_go_directly(program):
    """What is asked for is said not to be of them, beside collectives that it is of."""
    def both(trace):
        sizes = trace.all_to_all("sizes", [0, 1000], [])
        trace.collective("sum", chakra.ALL_REDUCE, 1000, [sizes])

    def other(trace):
        sizes = trace.all_to_all("sizes", [500, 0], [])
        trace.collective("sum", chakra.ALL_REDUCE, 1000, [sizes])

    def notes(collectives):
        done = program.call("run", write_pair(program, *traces(both, other)), "-o", program.folder, "-q",
                            "--set", "execution={collectives: {%s}}" % collectives)
        expect(done.returncode == 0, done.stderr_text)
        return "\n".join(program.summary()["notes"])

    directly = "all-to-alls with a size for each pair are sent directly, not by halving-doubling"
    for collectives in ("algorithms: [halving-doubling]", "communicators: flat, other_algorithm: halving-doubling"):
        said = notes(collectives)
        expect(directly in said, said)
    said = notes("all_to_all: [halving-doubling]")
    expect("collectives.all_to_all has no effect with all-to-alls with a size for each pair" in said, said)
    for collectives in ("", "algorithms: [direct]"):
        said = notes(collectives)
        expect("sent directly" not in said, said)


@check
def what_bends_a_result_is_said(program):
    def busy(trace):
        trace.host("host", [])

    def notes(first, second, *more):
        done = program.call("run", write_pair(program, first, second), "-o", program.folder, "-q", *more)
        expect(done.returncode == 0, done.stderr_text)
        return "\n".join(program.summary()["notes"])

    said = notes(*traces(busy, busy))
    expect("of 2 nodes, 2 compute but state neither work nor a time" in said, said)
    expect("nothing in this run took any time" in said, said)

    hosts = ["--set", "machine.compute={model: gemm, units: 4, tiles: [64x64], issue: 5 us}"]
    said = notes(*traces(busy, busy), *hosts)
    expect("machine.compute.issue and issue_pass have no effect on graphs" in said, said)
    done = program.call("run", HERE / "short.yaml", "-o", program.folder, "-q", *hosts)
    expect(done.returncode == 0, done.stderr_text)
    said = "\n".join(program.summary()["notes"])
    expect("issue" not in said, said)

    def send(trace):
        for _ in range(2):
            trace.message("s", chakra.SEND, 1, 1000, [])

    def receive(trace):
        for _ in range(2):
            trace.message("r", chakra.RECEIVE, 0, 1000, [])

    pair = traces(send, receive)
    said = notes(*pair)
    expect("one would have arrived 100 ns later" in said, said)
    alone = program.summary()["simulated_time_ps"]
    said = notes(*pair, "--set", "machine.network.ports=shared")
    expect("would have arrived" not in said, said)
    expect(program.summary()["simulated_time_ps"] == alone + 100_000, program.summary())


@check
def flow_network_needs_latency(program):
    def both(trace):
        trace.collective("c", chakra.ALL_REDUCE, 100, [])

    experiment = write_pair(program, *traces(both, both), network="flow")
    done = program.call("run", experiment, "-o", program.folder, "-q")
    expect(done.returncode == 0, done.stderr_text)
    expect_refusal(program.call("check", experiment, "--set",
                                "machine.topology.dimensions=[{bandwidth: 1 GB/s, latency: 1 ps}]"),
                   2, "2 ps at least")
