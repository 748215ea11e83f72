"""What plan says of input that it cannot plan for."""
import json
import re
import shlex
import signal
import time

from program import HERE, check, expect, expect_refusal, fits

CONFIGS = HERE.parent.parent / "configs"
SMALL = """name: small
machine:
  topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 10 GB/s, latency: 1 ns}
  tile: {peak: {fp16: 1 TFLOP/s}, sram: 1 MB}
workload: {kind: transformer, layers: 2, hidden: 32, heads: 4, sequence: 16, vocabulary: 50, batch: 4}
"""
ONE_MEMORY = "{at: edge, edges: [west], bandwidth: 1 GB/s, latency: 1 ns}"


def small(program, text=SMALL):
    path = program.scratch / "small.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def words_of(program, subject, *more):
    return ["plan", subject, "-q", "--folder", program.scratch / "found", "-o", program.scratch / "best.yaml", *more]


@check
def plan_says_where_its_input_is_wrong(program):
    for subject, more, complaint in (
            (program.scratch / "nowhere.yaml", [], "cannot read .*nowhere.yaml: No such file"),
            (program.scratch, [], "cannot read .*: Is a directory"),
            (CONFIGS / "experiments" / "tenants_wafer.yaml", [],
             "tenants_wafer.yaml:10:3: error: workload.kind: a strategy is searched for one workload, and these are 4 "
             "tenants: "),
            (small(program), ["--devices", "-1"], "--devices: must be between 1 and 4294967295; got -1"),
            (small(program), ["--devices", "many"], "--devices: expected a whole number; got 'many'"),
            (small(program), ["--top", "0"], "--top: must be between 1"),
            (small(program), ["--keep", ""], "--keep: is empty; see tessera plan --help"),
            (small(program), ["--keep", "zero=1,,2"], "--keep zero: must be between 0 and 3; got ''"),
            (small(program), ["--keep", "zero=9"], "--keep zero: must be between 0 and 3; got '9'"),
            (small(program), ["--keep", "tensor=0,2"], "--keep tensor: expected a whole number, 1 or more; got '0'"),
            (small(program), ["--keep", "tensor=-2"], "--keep tensor: expected a whole number, 1 or more; got '-2'"),
            (small(program), ["--keep", "shard=some"], "--keep shard: expected a whole number, 0 or more; got 'some'"),
            (small(program), ["--devices", "0"], "--devices: must be between 1 and 4294967295; got 0"),
            (small(program), ["--keep", "schedule=dualpipe"],
             "--keep schedule: unknown value 'dualpipe'; did you mean 'dualpipe-v'"),
            (small(program), ["--set", "strategy.schedule=dualpipe"], "holds the model twice"),
            (small(program), ["--resume", program.scratch], "does not go together with an experiment|is no search"),
            (small(program), ["--within", "0.1"], "--within means something for a service with targets alone"),
            (small(program), ["--set", "nothing=3"], "--set nothing=3:1:1: error: nothing: unknown key"),
            (small(program), ["--set", "workload.batch=0"], "workload.batch: must be between 1"),
            (CONFIGS / "experiments" / "quickstart.yaml",
             ["--set", "workload=%s" % (CONFIGS.parent / "workloads" / "bert_base_inference.yaml")],
             "quickstart.yaml:11:3: error: strategy.schedule: inference is 'streaming'"),
            (small(program), ["another.yaml"], "'another.yaml' is one word too many: tessera plan takes one experiment")):
        expect_refusal(program.call(*words_of(program, subject, *more)), 2, complaint)
    for text, complaint in (
            (SMALL.replace("rows: 2,", "rows: 2"), "small.yaml:3:[0-9]+: error: not valid YAML"),
            (SMALL.replace("kind: mesh", "kind: mash"), "small.yaml:3:20: error: machine.topology.kind: .*did you mean 'mesh'"),
            (SMALL.replace("hidden: 32", "hidden: x"), "small.yaml:5:[0-9]+: error: workload.hidden: "),
            ("", "small.yaml:1:1: error: the file is empty")):
        expect_refusal(program.call(*words_of(program, small(program, text))), 2, complaint)
    expect(not (program.scratch / "best.yaml").exists(), "a strategy was written")


@check
def plan_says_what_no_candidate_has(program):
    """And leaves what an earlier search has found."""
    found = program.scratch / "found"
    expect(program.call(*words_of(program, small(program), "--top", "1")).returncode == 0, "no plan")
    before = {path.name: path.read_bytes() for path in found.iterdir()}
    done = program.call(*words_of(program, small(program), "--keep", "tensor=3"))
    expect_refusal(done, 2, "--keep tensor=3: no candidate on 4 devices has that")
    expect({path.name: path.read_bytes() for path in found.iterdir()} == before, "the earlier plan is gone")


@check
def plan_keeps_its_results_by_the_name_of_the_experiment(program):
    """As a run does, whatever its file is called."""
    done = program.call("plan", small(program, SMALL.replace("name: small", "name: another")), "--top", "1",
                        "-q", cwd=program.scratch)
    expect(done.returncode == 0 and "results in out/another-plan\n" in done.stdout_text, done.stdout_text + done.stderr_text)
    expect((program.scratch / "out" / "another-plan" / "plan.json").exists(), "no results")


@check
def plan_names_the_command_that_takes_its_strategy(program):
    """With what plan was asked with, quoted for a shell; such a run takes what the table says."""
    asked = ["--set", "workload.batch=16", "--set", "machine.topology.latency=2 ns"]
    done = program.call(*words_of(program, small(program), "--top", "3", *asked))
    expect(done.returncode == 0, done.stderr_text)
    line = re.search("; tessera (run .*) takes it\n", done.stdout_text)
    expect(line is not None, done.stdout_text)
    words = shlex.split(line[1])
    expect(words[2:6] == asked, words)
    ran = program.call(*words, "-q", "-o", program.folder)
    expect(ran.returncode == 0, ran.stderr_text)
    summary = json.loads((program.folder / "summary.json").read_text(encoding="utf-8"))
    found = json.loads((program.scratch / "found" / "plan.json").read_text(encoding="utf-8"))
    expect(summary["iteration_time_ps"] == found["proposals"][0]["iteration_time_ps"], summary["iteration_time_ps"])


def stopped_plan(program, words, has_begun):
    """What a search prints that is asked to stop once it has found something."""
    process = program.start(words)
    deadline = time.time() + 60
    while process.poll() is None and time.time() < deadline and not has_begun():
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    expect(process.returncode == 75, "exit code %d: %s" % (process.returncode, err))
    return out, err


@check
def plan_that_is_stopped_says_what_it_left(program):
    """On the screen, as JSON and in the files that it writes: the best so far is not the plan's answer."""
    subject = small(program, SMALL.replace("rows: 2, columns: 2", "rows: 8, columns: 8").replace("layers: 2", "layers: 24")
                    .replace("batch: 4", "batch: 512"))
    words = words_of(program, subject, "--top", "100000", "--set", "run.replay=none", "--set", "strategy.capacity=ignore")
    kept = program.scratch / "found" / "strategy.yaml"
    out, err = stopped_plan(program, words, kept.exists)
    expect("found/strategy.yaml" not in out and "error: a stop was requested" in err, out + err)
    how_far = re.search(r"written to \S+best.yaml, the best so far \(the search was stopped: "
                        r"(\d+ of \d+ candidates that fit were simulated, \d+ others may be faster)\); tessera run ", out)
    expect(how_far is not None and "were left when it was stopped" in out, out)
    for path in (program.scratch / "best.yaml", kept):
        text = path.read_text(encoding="utf-8")
        expect("# The search had not ended: %s.\n" % how_far[1] in text, text)
    answer = json.loads((program.scratch / "found" / "plan.json").read_text(encoding="utf-8"))
    fits(answer, "plan.schema.json")
    left = int(re.search(r"(\d+) others", how_far[1])[1])
    expect(not answer["complete"] and answer["left"] == left > 0, answer)


@check
def work_beyond_the_range_of_times(program):
    """It is refused where it runs as it is; a plan of it looks for a strategy within the range."""
    slow = ("--set", "machine.tile.peak.fp16=20 FLOP/s")
    for words in (("run", HERE / "short.yaml", *slow, "-o", program.folder), ("check", HERE / "short.yaml", *slow)):
        done = program.call(*words)
        expect(done.returncode == 2 and "longer than simulated time goes" in done.stderr_text, done.stderr_text)
        expect("error: machine.tile.peak.fp16: with 20 FLOP/s, " in done.stderr_text, done.stderr_text)
        # What memory takes is known beforehand, and what latencies add up to is not.
        done = program.call(words[0], words[1], "--set", "machine.dram.bandwidth=3 B/s", *words[4:])
        expect(done.returncode == 2, done.stderr_text)
        expect("error: machine.dram.bandwidth: at 3 B/s an operation of " in done.stderr_text, done.stderr_text)
    expect(not program.folder.exists(), "a folder is left")
    done = program.call("run", HERE / "short.yaml", "--set", "machine.dram.latency=2000000 s", "-o", program.folder)
    expect(done.returncode == 3 and "simulated time leaves the range of 2^63 ps (about 106 days) (at " in done.stderr_text
           and "; machine.dram.latency is 2000000 s (" in done.stderr_text, done.stderr_text)
    done = program.call("run", HERE / "late_steps.yaml", "-o", program.folder)  # no key of the machine is to blame
    expect(done.returncode == 3 and "; execution.collectives.endpoint_delay is 2000000 s (" in done.stderr_text,
           done.stderr_text)


@check
def plan_of_a_graph_without_a_strategy(program):
    """A model of ONNX that runs as it is has no strategy of its own to compare with."""
    done = program.call(*words_of(program, CONFIGS / "experiments" / "onnx_ocr.yaml", "--top", "2"))
    expect(done.returncode == 0, done.stderr_text)
    expect("own strategy" not in done.stdout_text, done.stdout_text)


@check
def replay_waits_until_no_stage_waits_less(program):
    """A stage that takes longer than the others sets the pace only once it no longer waits: here after 22 micro-batches,
    of which each takes as long as the one before all the while."""
    path = program.scratch / "late.yaml"
    path.write_text(f"""name: late
machine: {CONFIGS}/machines/h100_cluster.yaml
workload: {CONFIGS.parent}/workloads/llama2_70b.yaml
strategy:
  {{pipeline: 4, tensor: 2, data: 2, context: 2, chunks: 2, schedule: dualpipe-v, micro_batch: 1, zero: 1,
   sequence_parallel: true, overlap_gradients: true, overlap_tensor: true, prefetch: both, capacity: ignore,
   aggregation: stage, placement: {{layout: linear}}}}
""", encoding="utf-8")
    times = []
    for replay in ("none", "exact"):
        folder = program.scratch / replay
        done = program.call("run", path, "-q", "-q", "-o", folder, "--trace", "none", "--set", "machine.topology.nodes=4",
                            "--set", "workload.batch=256", "--set", f"run.replay={replay}")
        expect(done.returncode == 0, done.stderr_text)
        times.append(json.loads((folder / "summary.json").read_text(encoding="utf-8"))["iteration_time_ps"])
    expect(times[0] == times[1], f"{times[1]} ps in place of {times[0]}")


JOB = """{kind: transformer, layers: 2, hidden: 32, heads: 4, sequence: 16, vocabulary: 50, batch: 4}"""


def listed(tenants):
    head = SMALL.partition("workload:")[0]
    return head + "workload:\n  kind: tenants\n  tenants:\n" + "".join("    - %s\n" % tenant for tenant in tenants)


def tenant(name, tiles, workload=JOB, more=", strategy: {pipeline: 2}"):
    return "{name: %s, tiles: %s, workload: %s%s}" % (name, tiles, workload, more)


@check
def plan_takes_the_only_job_of_a_list(program):
    best = program.scratch / "best.yaml"
    found = []
    for text in (SMALL + "strategy: {pipeline: 2}\n", listed([tenant("only", "all")]), listed([tenant("only", "0-3")])):
        folder = program.scratch / ("found%d" % len(found))
        call = program.call("plan", small(program, text), "-q", "--json", "--folder", folder, "-o", best)
        expect(call.returncode == 0, call.stderr_text)
        found.append([(row["strategy"], row["iteration_time_ps"]) for row in json.loads(call.stdout_text)["proposals"]])
        lines = best.read_text(encoding="utf-8").splitlines()
        found[-1].append([line for line in lines if not line.startswith("#")])
    expect(found[0] == found[1] == found[2] and len(found[0]) > 2, "%s" % found)


@check
def plan_names_the_key_of_the_only_job(program):
    """The command that it prints runs; keys within a file of that job are set there, too."""
    best = program.scratch / "best.yaml"
    subject = small(program, listed([tenant("only", "all")]))
    done = program.call("plan", subject, "-q", "--folder", program.scratch / "found", "-o", best)
    expect(done.returncode == 0, done.stderr_text)
    key = "workload.tenants.0.strategy"
    command = "tessera run %s --set %s=%s" % (subject, key, best)
    expect(command + " takes it" in done.stdout_text, done.stdout_text)
    for more in ([], ["--set", key + ".aggregation=stage"]):
        done = program.call(*shlex.split(command)[1:], *more, "-q", "-o", program.scratch / ("run%d" % len(more)))
        expect(done.returncode == 0, done.stderr_text)


@check
def plan_says_why_a_list_is_none_for_it(program):
    for tenants, complaint in (
            ([tenant("a", "0-1"), tenant("b", "2-3")],
             "small.yaml:6:3: error: workload.kind: a strategy is searched for one workload, and these are 2 tenants: "
             "a, b; keep one of them"),
            ([tenant("a", "0-1")], "small.yaml:8:[0-9]+: error: workload.tenants.0..tiles: a strategy is searched for a "
             "whole machine, and these are 2 of its 4 tiles"),
            ([tenant("a", "[3, 2, 1, 0]")], "workload.tenants.0..tiles: .* have an order of their own"),
            ([tenant("a", "all", "{kind: collective, collective: all-reduce, size: 1 kB}", "")],
             "workload.tenants.0..workload.kind: 'collective' is no work that a strategy cuts, as layers, onnx, "),
            ([tenant("a", "all", more=", execution: {}, strategy: {}")],
             "workload.tenants.0..execution: strategies are compared by their programs")):
        expect_refusal(program.call(*words_of(program, small(program, listed(tenants)))), 2, complaint)
    both = small(program, listed([tenant("a", "all")]) + "strategy: {tensor: 2}\n")
    expect_refusal(program.call(*words_of(program, both)), 2, "strategy: each tenant has its own, beside its workload")


@check
def traces_of_one_of_several_tenants(program):
    several = small(program, listed([tenant("a", "0-1"), tenant("b", "2-3")]))
    words = ["export", several, "--format", "chakra", "-o", program.scratch / "traces" / "b"]
    expect_refusal(program.call(*words), 2, "these are 2; choose one by --tenant: a, b")
    expect_refusal(program.call(*words, "--tenant", "c"), 2, "unknown tenant 'c'")
    expect(program.call(*words, "--tenant", "b").returncode == 0, "no traces of b")
    expect(len(list((program.scratch / "traces").glob("b.*.et"))) == 2, "its tiles are its NPUs")
    one = small(program, listed([tenant("a", "0-3")]))
    alone = program.scratch / "alone.yaml"
    alone.write_text(SMALL + "strategy: {pipeline: 2}\n", encoding="utf-8")
    for subject, name in ((one, "one"), (alone, "alone")):
        call = program.call("export", subject, "--format", "chakra", "-o", program.scratch / name / "t")
        expect(call.returncode == 0, call.stderr_text)
    for trace in (program.scratch / "alone").glob("*.et"):
        expect(trace.read_bytes() == (program.scratch / "one" / trace.name).read_bytes(), "%s differs" % trace.name)
    expect_refusal(program.call("export", alone, "--format", "chakra", "-o", "x", "--tenant", "a"), 2,
                   "--tenant: there are no tenants, but one workload")


@check
def plan_writes_the_own_strategy_where_it_is_the_fastest(program):
    """Sharing nothing is best where eight tiles have one slow memory."""
    text = (SMALL.replace("sram: 1 MB}", "sram: 1 MB}\n  dram: %s" % ONE_MEMORY)
            .replace("rows: 2, columns: 2, bandwidth: 10 GB/s", "rows: 1, columns: 4, bandwidth: 1 MB/s"))
    own = small(program, text + "strategy: {micro_batch: 4}\n")
    done = program.call(*words_of(program, own, "--json", "--keep", "placement", "--keep", "pipeline=2,4"))
    expect(done.returncode == 0, done.stderr_text)
    answer = json.loads(done.stdout_text)
    fits(answer, "plan.schema.json")
    expect(answer["proposals"][0]["own"], answer["proposals"])
    best = program.scratch / "best.yaml"
    written = best.read_text(encoding="utf-8")
    expect("the experiment's own, which is the fastest" in written, written)
    ran = program.call("run", own, "--set", "strategy=%s" % best, "-q", "-o", program.folder)
    expect(ran.returncode == 0, ran.stderr_text)
    expect(program.summary()["iteration_time_ps"] == answer["proposals"][0]["iteration_time_ps"], program.summary())


@check
def plan_simulates_with_what_the_experiment_says(program):
    """Of aggregation and of the placement beside its layout: rows are what a run of their settings takes."""
    text = SMALL.replace("sram: 1 MB}", "sram: 1 MB}\n  dram: %s" % ONE_MEMORY)
    for strategy, keys in (("aggregation: stage, tensor: 2", ()),
                           ("tensor: 2, data: 2, placement: {layout: line, group: [4, 1], tensor_members: far}",
                            ("tensor", "placement"))):
        own = small(program, text.replace("rows: 2, columns: 2", "rows: 4, columns: 2") + "strategy: {%s}\n" % strategy)
        done = program.call(*words_of(program, own, "--json", *(word for key in keys for word in ("--keep", key))))
        expect(done.returncode == 0, done.stderr_text)
        answer = json.loads(done.stdout_text)
        fits(answer, "plan.schema.json")
        expect(answer["simulated_with_aggregation"] == ("none" if keys else "stage"), answer)
        for row in [row for row in answer["proposals"] if not row["own"]][:3]:
            settings = [word for setting in row["settings"] for word in ("--set", setting)]
            ran = program.call("run", own, *settings, "-q", "-o", program.folder)
            expect(ran.returncode == 0, ran.stderr_text)
            expect(program.summary()["iteration_time_ps"] == row["iteration_time_ps"], row)
            expect(not keys or "tensor_members: far" in row["settings"][-1], row)
