"""What it says, and what it refuses."""
import json
import re

from program import HERE, check, expect, expect_refusal


@check
def bad_cut_options(program):
    for command in ("run", "check", "scale"):
        ranks = ["--ranks", "2"] if command == "scale" else []
        words = [command, HERE / "short.yaml", *ranks]
        expect_refusal(program.call(*words, "--partition", "block"), 2, "did you mean 'blocks'")
        expect_refusal(program.call(*words, "--synchronization", "windows"), 2,
                       "did you mean 'window'")
        expect_refusal(program.call(*words, "--weights", "nowhere"), 2, "cannot read nowhere")


@check
def scale_measures_the_time_of_an_event(program):
    """However short its calibration is; one of no time is refused."""
    words = ["scale", HERE / "short.yaml", "--ranks", "2", "--calibration"]
    for refused in ("0", "-1", "nan"):
        expect_refusal(program.call(*words, refused), 2, "--calibration")
    done = program.call(*words, "1e-12", "-o", program.scratch / "s.json")
    expect(done.returncode == 0, done.stderr_text)
    found = json.loads((program.scratch / "s.json").read_text(encoding="utf-8"))
    expect(found["costs"]["event_s"] > 0 and found["predictions"][1]["speed_up"] > 0, found["costs"])


@check
def check_tells_the_notes_of_a_run(program):
    """Keys without effect, and what the levels leave out: all that a run can say before it begins."""
    words = [HERE / "short.yaml", "--set", "strategy.prefetch=forward"]
    done = program.call("run", *words, "-o", program.folder, "-q", "-q")
    expect(done.returncode == 0, done.stderr_text)
    notes = program.summary()["notes"]
    expect(notes[0] == "strategy.prefetch has no effect with less than zero: 3" and len(notes) > 1, notes)
    checked = program.call("check", *words, "--json").stdout_text
    expect(json.loads(checked)["notes"] == notes, checked)
    checked = program.call("check", *words).stdout_text
    expect(checked.endswith("\n# notes\n%s\nok\n" % "\n".join(notes)), checked)
    checked = program.call("check", HERE / "short.yaml", "--set", "strategy.tensor=1", "--set",
                           "strategy.pipeline=4").stdout_text
    expect("no effect" not in checked and checked.endswith("\nok\n"), checked)


@check
def list_has_every_kind_of_work(program):
    kinds = json.loads(program.call("list", "kinds", "--json").stdout_text)["kinds"]
    names = [part["name"] for part in kinds] if isinstance(kinds, list) else list(kinds)
    expect(names == ["chakra", "collective", "graph", "layers", "onnx", "operators", "serving", "tenants",
                     "traffic", "transformer"], names)


@check
def schema_is_of_an_experiment_where_no_file_is_named(program):
    named = program.call("list", "--schema", "experiment")
    expect(named.returncode == 0 and json.loads(named.stdout_text), named.stderr_text)
    for words in (["--schema"], ["--schema", "--json"]):
        alone = program.call("list", *words)
        expect(alone.returncode == 0 and alone.stdout_text == named.stdout_text, alone.stderr_text)
    expect_refusal(program.call("list", "--schema", "machines"), 2, "did you mean 'machine'")


@check
def bad_trace_level(program):
    expect_refusal(program.call("run", HERE / "short.yaml", "--trace", "everything"), 2,
                   "--trace: unknown value 'everything'; known: none, summary, full")


@check
def scale_refuses(program):
    experiment = HERE / "short.yaml"
    expect_refusal(program.call("scale", experiment), 2, "no numbers of ranks")
    expect_refusal(program.call("scale", experiment, "--ranks", "2,x"), 2, "expected numbers")
    expect_refusal(program.call("scale", experiment, "--ranks", "2,60000"), 2,
                   "can be predicted on 1 to [0-9]+ ranks, not on 60000")
    expect_refusal(program.call("scale", experiment, "--ranks", "2", "--message-latency", "1"), 2,
                   "--message-latency: .*unit")
    expect_refusal(program.call("scale", experiment, "--ranks", "2", "--partition",
                                "blocks,stripe"), 2, "did you mean 'stripes'")
    expect_refusal(program.call("scale", experiment, "--ranks", "2", "--wait-messages", "0.5"), 2,
                   "--wait-messages must not be below 1")


@check
def scale_counts_as_a_run(program):
    scaling = program.scratch / "scaling.json"
    done = program.call("scale", HERE / "short.yaml", "--ranks", "2,4", "-o", scaling,
                        "--partition", "stripes")
    expect(done.returncode == 0, done.stderr_text)
    expect("speed-up" in done.stdout_text, done.stdout_text)
    predictions = json.loads(scaling.read_text(encoding="utf-8"))["predictions"]
    expect([row["ranks"] for row in predictions] == [1, 2, 4], predictions)
    for row in predictions:
        done = program.call("run", HERE / "short.yaml", "-o", program.folder, "-q",
                            "--partition", "stripes", ranks=row["ranks"])
        expect(done.returncode == 0, done.stderr_text)
        summary = program.summary()
        real = [summary["events"], max(summary["rank_events"]), summary["windows"],
                summary["remote_events"], summary["cut_links"]]
        expect([row[key] for key in ("events", "largest_events", "windows", "remote_events",
                                     "cut_links")] == real, "%s instead of %s" % (row, real))


@check
def scale_compares_cuts(program):
    scaling = program.scratch / "compared.json"
    done = program.call("scale", HERE / "short.yaml", "--ranks", "2,4", "--partition",
                        "blocks,stripes,blocks", "-o", scaling)
    expect(done.returncode == 0, done.stderr_text)
    expect("stripes" in done.stdout_text and "bound" in done.stdout_text, done.stdout_text)
    report = json.loads(scaling.read_text(encoding="utf-8"))
    rows = report["predictions"]
    expect(report["partition"] == "blocks,stripes", report["partition"])
    expect([(row["partition"], row["ranks"]) for row in rows[1:]]
           == [("blocks", 2), ("blocks", 4), ("stripes", 2), ("stripes", 4)], rows)
    for row in rows:
        expect(row["promises_speed_up"] <= row["bound"] <= row["ranks"], row)
        expect(row["perfect"]["waits"] <= row["remote_events"], row)


@check
def measured_weights(program):
    expect(program.call("run", HERE / "short.yaml", "-o", program.folder, "-q").returncode == 0,
           "the run failed")
    digest = program.summary()["result_digest"]
    second = program.scratch / "second"
    done = program.call("run", HERE / "short.yaml", "-o", second, "-q", "--weights",
                        program.folder, "--partition", "stripes", ranks=2)
    expect(done.returncode == 0, done.stderr_text)
    summary = program.summary(second)
    expect(summary["result_digest"] == digest, "weights changed the result")
    expect(summary["weights"] == str(program.folder) and summary["partition"] == "stripes", summary)
    done = program.call("check", HERE / "short.yaml", "--ranks", "3", "--weights", program.folder)
    expect("imbalance by weight" in done.stdout_text and "share of weight" in done.stdout_text,
           done.stdout_text)

@check
def version(program):
    done = program.call("--version")
    expect(done.returncode == 0, "exit code %d" % done.returncode)
    expect(re.match(r"tessera \d+\.\d+\.\d+ \([^)]+\), MPI: \S.*, HDF5 \d+\.\d+\.\d+\n$",
                    done.stdout_text), done.stdout_text)
    expect(done.stderr_text == "", done.stderr_text)


@check
def help_of_all(program):
    done = program.call("--help")
    expect(done.returncode == 0 and done.stderr_text == "", done.stderr_text)
    commands = re.findall(r"^  ([a-z]+) ", done.stdout_text, re.MULTILINE)
    expect(set(commands) >= {"run", "check", "list", "show", "export"}, done.stdout_text)
    for command in commands:
        done = program.call(command, "--help")
        expect(done.returncode == 0 and done.stderr_text == "",
               "%s --help: %d %s" % (command, done.returncode, done.stderr_text))
        expect("tessera " + command in done.stdout_text, "%s: %s" % (command, done.stdout_text))
        if command in (commands[0], "run", commands[-1]):
            many = program.call(command, "--help", ranks=2)
            expect(many.stdout_text == done.stdout_text, "on two ranks: " + many.stdout_text)


@check
def no_command(program):
    done = program.call()
    expect(done.returncode == 2 and done.stdout_text == "", done.stdout_text)
    expect(done.stderr_text.startswith("usage: tessera COMMAND"), done.stderr_text)


@check
def unknown_command(program):
    expect_refusal(program.call("runn", "x.yaml"), 2, "runn.*did you mean 'run'")


@check
def unknown_option(program):
    for command in ("run", "check"):
        expect_refusal(program.call(command, HERE / "short.yaml", "--sett", "a=b"), 2,
                       "sett.*; see tessera %s --help" % command)


@check
def unknown_kind(program):
    expect_refusal(program.call("list", "topologie"), 2, "did you mean 'topologies'")


@check
def no_experiment(program):
    for command in ("run", "check"):
        expect_refusal(program.call(command), 2, "no experiment")


@check
def bad_option_value(program):
    experiment = HERE / "short.yaml"
    for words, pattern in (
            (["run", experiment, "--watchdog", "soon"], "--watchdog: .*'soon'"),
            (["run", experiment, "--watchdog", "-1"], "--watchdog: must be between 0 and"),
            (["check", experiment, "--ranks", "99999999999"], "--ranks: must be between 1 and"),
            (["check", experiment, "--ranks", "0"], "--ranks: must be between 1 and"),
            (["plan", experiment, "--top", "few"], "--top: .*'few'"),
            (["scale", experiment, "--ranks", "2", "--calibration", "x"], "--calibration: .*'x'"),
            (["export", program.folder, "--tile", "a"], "--tile: .*'a'"),
            (["export", program.folder, "--from", "2"], "--from: .*unit")):
        expect_refusal(program.call(*words), 2, pattern)


@check
def words_beyond_the_subject(program):
    for command, subject in (("run", "experiment"), ("check", "experiment"), ("plan", "experiment"),
                             ("scale", "experiment"), ("sweep", "sweep file"),
                             ("export", "run folder or experiment"), ("show", "run folder or machine"), ("list", "kind")):
        expect_refusal(program.call(command, "first", "second.yaml"), 2,
                       "'second.yaml' is one word too many: tessera %s takes one %s; see tessera %s "
                       "--help" % (command, subject, command))
    expect_refusal(program.call("report", "first", "second", "third"), 2,
                   "tessera report takes one run or sweep, not 3; tessera compare first second third -o FILE.html "
                   "writes the report of several runs")
    expect(not (program.scratch / "out").exists(), "something was written")


@check
def missing_experiment(program):
    for command in ("run", "check", "plan"):
        expect_refusal(program.call(command, "nowhere.yaml"), 2,
                       "cannot read nowhere.yaml: No such file or directory")
    for command in ("show", "export"):
        expect_refusal(program.call(command, "nowhere"), 2, "nowhere: error: there is no such folder")


@check
def missing_input_once_for_all_ranks(program):
    for words in (["run", "nowhere.yaml"], ["sweep", "nowhere.yaml"],
                  ["run", HERE / "short.yaml", "--weights", "nowhere"]):
        done = program.call(*words, ranks=2)
        expect(done.returncode == 2, "exit code %d" % done.returncode)
        expect(done.stderr_text.count("cannot read nowhere") == 1, done.stderr_text)
        expect("MPI_ABORT" not in done.stderr_text, done.stderr_text)


@check
def bad_input_once_for_all_ranks(program):
    done = program.call("run", HERE / "short.yaml", "--set", "run.iterations=0", ranks=3)
    expect(done.returncode == 2, "exit code %d" % done.returncode)
    expect(done.stderr_text.count("run.iterations: must be between") == 1, done.stderr_text)


@check
def parts_of_plans_and_cores_that_others_take_over_are_noted(program):
    graphs = program.scratch / "graphs.yaml"
    graphs.write_text("""name: graphs
machine:
  topology: {kind: stack, shape: "Switch(16)", dimensions: [{bandwidth: 100 GB/s, latency: 1 us}]}
  tile: {peak: {fp16: 10 TFLOP/s}}
workload: {kind: transformer, layers: 4, hidden: 64, heads: 4, sequence: 32, vocabulary: 100, batch: 8}
strategy: {pipeline: 2, tensor: 2, data: 4, collectives: {data: line}}
execution: {collectives: {communicators: flat}}
""", encoding="utf-8")
    for subject, settings, said in (
            (graphs, [], "strategy.collectives.data has no effect with graphs"),
            (HERE.parent / "parallel" / "npu_chip.yaml", ["--set", "machine.compute.operands=sram"],
             "cores assume that operands are in SRAM and access no memory")):
        done = program.call("check", subject, "--json", *settings)
        expect(done.returncode == 0, done.stderr_text)
        notes = json.loads(done.stdout_text)["notes"]
        expect(any(said in note for note in notes), notes)
