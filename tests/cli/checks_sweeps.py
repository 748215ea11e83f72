"""Sweeps and plans."""
import csv
import io
import json
import re
import signal
import time

from program import HERE, check, expect, expect_refusal, fits


def write_sweep(program, lines=""):
    path = program.scratch / "sweep.yaml"
    path.write_text("experiment: %s\naxes:\n  strategy.pipeline: [1, 2, 3]\n"
                    "  strategy.tensor: [1, 2]\n  strategy.micro_batch: [1, 2, 4, 8]\n"
                    "set: {run.iterations: 40, strategy.capacity: ignore}\n%s"
                    % (json.dumps(str(HERE / "short.yaml")), lines), encoding="utf-8")
    return path


def csv_of(folder):
    return (folder / "sweep.csv").read_text(encoding="utf-8")


@check
def sweep_and_its_table(program):
    sweep = write_sweep(program, "constraints: [tensor * pipeline <= 4]\n")
    done = program.call("sweep", sweep, "-o", program.folder, "--top", "3")
    expect(done.returncode == 0, done.stderr_text)
    expect("20 points of a grid of 24" in done.stderr_text, done.stderr_text)
    expect("20 points, 20 finished" in done.stdout_text, done.stdout_text)
    expect(re.search(r"^3 +[0-9]+ ", done.stdout_text, re.MULTILINE), done.stdout_text)
    expect(not re.search(r"^4 +[0-9]+ ", done.stdout_text, re.MULTILINE), done.stdout_text)
    left = sorted(p.name for p in program.folder.iterdir())
    expect(left == ["points", "sweep.csv", "sweep.h5", "sweep.json", "sweep.resolved.yaml"], left)
    rows = csv_of(program.folder).splitlines()
    expect(len(rows) == 21 and rows[0].startswith("point,strategy.pipeline,strategy.tensor,"), rows[0])
    expect_refusal(program.call("show", program.folder), 2, "is a sweep; tessera report shows its points")
    # The same folder may be used again; --set reaches every point.
    again = program.call("sweep", sweep, "-o", program.folder, "-q", "--set", "strategy.data=0")
    expect(again.returncode == 3, again.stderr_text)
    expect("no point finished" in again.stderr_text, again.stderr_text)
    expect("refused" in again.stdout_text and "strategy.data" in again.stdout_text,
           again.stdout_text)


def json_of(done):
    found = json.loads(done.stdout_text)
    fits(found, "sweep.schema.json")
    return found


@check
def sweep_and_its_table_in_json(program):
    sweep = write_sweep(program, "constraints: [tensor * pipeline <= 4]\n")
    done = program.call("sweep", sweep, "-o", program.folder, "--json")
    expect(done.returncode == 0, done.stderr_text)
    found = json_of(done)
    expect(found["complete"] and found["folder"] == str(program.folder), found["folder"])
    expect(sorted(found["best"]) == [row["point"] for row in found["rows"]] and len(found["rows"]) == 20, found["best"])
    rows = list(csv.DictReader(io.StringIO(csv_of(program.folder))))
    for row, cells in zip(found["rows"], rows, strict=True):
        told = {"point": str(row["point"]), "status": row["status"], "result_digest": row["result_digest"],
                "message": row["message"], "notes": "; ".join(row["notes"]), **row["values"]}
        expect(all(cells.pop(key) == value for key, value in told.items()), (row, cells))
        expect(all(float(cells.pop(column)) == number for column, number in row["numbers"].items()), (row, cells))
        expect(not cells, cells)
    by_point = {row["point"]: row["numbers"][found["objective"]["column"]] for row in found["rows"]}
    order = [by_point[point] for point in found["best"]]
    expect(order == sorted(order, reverse=found["objective"]["maximize"]), order)
    expect(json_of(program.call("sweep", "--resume", program.folder, "--json", ranks=2)) == found, "on two ranks")
    expect_refusal(program.call("sweep", sweep, "--json", "--top", "3"), 2, "--json prints all rows")
    none = program.call("sweep", sweep, "-o", program.folder, "-q", "--json", "--set", "strategy.data=0")
    expect(none.returncode == 3, none.stderr_text)
    refused = json_of(none)
    expect(not refused["best"] and all(row["status"] == "refused" and row["message"] for row in refused["rows"]),
           refused)


@check
def sweeps_say_which_keys_have_no_effect(program):
    sweep = write_sweep(program, "constraints: [tensor == 1, micro_batch == 1, pipeline > 1]\n")
    done = program.call("sweep", sweep, "-o", program.folder, "-q", "--set", "strategy.boundary=scattered")
    expect(done.returncode == 0, done.stderr_text)
    expect(re.search("^     2  point [0-9]+ +strategy.boundary has no effect with tensor: 1$",
                     done.stdout_text, re.MULTILINE), done.stdout_text)
    expect(csv_of(program.folder).count("strategy.boundary has no effect with tensor: 1") == 2,
           csv_of(program.folder))


@check
def work_without_a_plan_is_swept(program):
    sweep = program.scratch / "graphs.yaml"
    sweep.write_text("experiment: %s\naxes: {execution.collectives.chunks: [16, 32]}\n"
                     "report: [messages]\n" %
                     json.dumps(str(HERE.parents[1] / "configs/experiments/astra_conv_4d.yaml")),
                     encoding="utf-8")
    done = program.call("sweep", sweep, "-o", program.folder)
    expect(done.returncode == 0, done.stderr_text)
    rows = [row.split(",") for row in csv_of(program.folder).splitlines()]
    column = {name: [row[place] for row in rows[1:]] for place, name in enumerate(rows[0])}
    expect(len(set(column["iteration_time_ps"])) == 2, rows)
    expect(column["memory_per_tile_bytes"] == ["", ""], "there is no plan: %s" % rows)


@check
def sweep_resumes_after_kill(program):
    sweep = write_sweep(program)
    whole = program.scratch / "whole"
    done = program.call("sweep", sweep, "-o", whole)
    expect(done.returncode == 0, done.stderr_text)
    for lines in (1, 5, 12):
        folder = program.scratch / ("killed after %d" % lines)
        process = program.start(["sweep", sweep, "-o", folder])
        log = folder / "points" / "00000.jsonl"
        deadline = time.time() + 60
        while not log.exists() or log.read_bytes().count(b"\n") < lines:
            expect(process.poll() is None and time.time() < deadline, "no %d points" % lines)
            time.sleep(0.001)
        process.kill()
        process.communicate(timeout=30)
        expect(not (folder / "sweep.csv").exists(), "the sweep had ended")
        done = program.call("sweep", "--resume", folder)
        expect(done.returncode == 0, done.stderr_text)
        expect(re.search("going on; [0-9]+ of 24 points are there", done.stderr_text),
               done.stderr_text)
        expect(csv_of(folder) == csv_of(whole), "another table after %d points" % lines)


@check
def sweep_resumes_on_two_ranks(program):
    sweep = write_sweep(program)
    whole = program.scratch / "whole"
    expect(program.call("sweep", sweep, "-o", whole).returncode == 0, "whole")
    process = program.start(["sweep", sweep, "-o", program.folder])
    log = program.folder / "points" / "00000.jsonl"
    deadline = time.time() + 60
    while not log.exists() or not log.stat().st_size:
        expect(process.poll() is None and time.time() < deadline, "no point")
        time.sleep(0.001)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    expect(process.returncode == 75, "exit code %d: %s" % (process.returncode, err))
    expect("--resume" in err, err)
    done = program.call("sweep", "--resume", program.folder, ranks=2)
    expect(done.returncode == 0, done.stderr_text)
    expect(csv_of(program.folder) == csv_of(whole), "another table")


@check
def sweep_refusals(program):
    expect_refusal(program.call("sweep"), 2, "no sweep file")
    expect_refusal(program.call("sweep", "nowhere.yaml"), 2, "nowhere.yaml")
    expect_refusal(program.call("sweep", "--resume", program.folder), 2, "no sweep to go on with")
    sweep = write_sweep(program)
    for other in (["--set", "a=1"], [sweep], ["-o", program.folder]):
        expect_refusal(program.call("sweep", "--resume", program.folder, *other), 2,
                       "does not go together with")
    program.call("sweep", sweep, "-o", program.folder)
    before = csv_of(program.folder)
    write_sweep(program, "# changed\n")
    expect_refusal(program.call("sweep", "--resume", program.folder), 2, "is not as it was")
    expect(csv_of(program.folder) == before, "something was written")
    program.call("run", HERE / "short.yaml", "-o", program.scratch / "run-folder")
    expect_refusal(program.call("sweep", sweep, "-o", program.scratch / "run-folder"), 2,
                   "which is not of a sweep")


@check
def plan_proposes_a_strategy(program):
    best = program.scratch / "best.yaml"
    words = ["plan", HERE / "short.yaml", "--top", "2", "-o", best, "--folder",
             program.scratch / "found"]
    done = program.call(*words)
    expect(done.returncode == 0, done.stderr_text)
    expect("own" in done.stdout_text, done.stdout_text)
    expect(re.search(r"^ *1 .*[0-9.]+ [mun]s ", done.stdout_text, re.MULTILINE), done.stdout_text)
    ran = program.call("run", HERE / "short.yaml", "--set", "strategy=%s" % best, "-q", "-o",
                       program.folder)
    expect(ran.returncode == 0, ran.stderr_text)
    expect(program.summary()["status"] == "finished", program.summary()["status"])
    many = program.call(*words, ranks=2)
    expect(many.stdout_text == done.stdout_text, many.stdout_text)
    slow = "take all nodes at full speed, and machine.faults slows some"
    of_one = program.call(*words, "--set", "machine.faults.nodes=[{node: 1, speed: 50 %}]")
    expect(of_one.returncode == 0 and slow in of_one.stdout_text and slow not in done.stdout_text, of_one.stdout_text)
    expect_refusal(program.call("plan"), 2, "no experiment")
    expect_refusal(program.call("plan", HERE / "short.yaml", "--set", "execution={}"), 2,
                   "execution: strategies are compared by their programs")
    nothing = program.call("plan", HERE / "short.yaml", "-q", "--set", "machine.dram.capacity=1 kB",
                           "-o", program.scratch / "none.yaml", "--folder", program.scratch / "none")
    expect(nothing.returncode == 3, nothing.stderr_text)
    expect("0 fit" in nothing.stdout_text, nothing.stdout_text)
    expect(re.search(r"would hold .* more than its 1 kB", nothing.stderr_text) and
           re.search(r"recompute: full: .* missing in", nothing.stderr_text), nothing.stderr_text)
    expect(not (program.scratch / "none.yaml").exists(), "a strategy was written")


@check
def plan_keeps_what_it_finds(program):
    """From the first simulation on, to go on with; JSON for programs."""
    found = program.scratch / "found"
    words = ["plan", HERE / "short.yaml", "--top", "4", "-o", program.scratch / "best.yaml", "--json"]
    done = program.call(*words, "--folder", found)
    expect(done.returncode == 0, done.stderr_text)
    expect("best so far: " in done.stderr_text, done.stderr_text)
    answer = json.loads(done.stdout_text)
    expect(answer == json.loads((found / "plan.json").read_text()), "another answer in the folder")
    fits(answer, "plan.schema.json")
    expect(answer["complete"] and answer["proposals"][0]["iteration_time_ps"] > 0, answer)
    lines = (found / "candidates.csv").read_text().splitlines()
    expect(lines[0].startswith("pipeline,tensor,data,") and len(lines) > 4, lines[:2])
    expect((found / "strategy.yaml").read_text() == (program.scratch / "best.yaml").read_text(),
           "another strategy in the folder")
    again = program.call("plan", "--resume", found, "--json", "-o", program.scratch / "again.yaml", ranks=2)
    expect(again.returncode == 0, again.stderr_text)
    expect(json.loads(again.stdout_text)["proposals"] == answer["proposals"], again.stdout_text)
    expect_refusal(program.call("plan", "--resume", program.scratch, "-o", program.scratch / "x.yaml"), 2,
                   "is no search to go on with")
    expect_refusal(program.call(*words, "--folder", program.scratch), 2, "which is of no search")
    expect_refusal(program.call(*words, "--folder", found, "--keep", "zeros"), 2,
                   "--keep: unknown key 'zeros'; did you mean 'zero'")
    expect_refusal(program.call(*words, "--folder", found, "--keep", "zero=some"), 2,
                   "--keep zero: must be between 0 and 3; got 'some'")
    expect_refusal(program.call(*words, "--folder", found, "--all"), 2,
                   "--all does not go together with --top")


@check
def outputs_of_others_stay(program):
    """What plan and scale may write is looked at before they begin."""
    precious = program.scratch / "precious.yaml"
    precious.write_text((HERE / "short.yaml").read_text().replace(
        "../parallel", str(HERE.parent / "parallel")))
    before = precious.read_text()
    nowhere = program.scratch / "no folder" / "file"
    for words in (["plan", precious, "--top", "1", "--folder", program.scratch / "found"], ["scale", precious, "--ranks", "2"]):
        refused = "%s: error: is there, and tessera %s did not write it" % (precious, words[0])
        expect_refusal(program.call(*words, "-o", precious), 2, refused)
        expect(precious.read_text() == before, "the experiment was replaced")
        expect_refusal(program.call(*words, "-o", program.scratch), 2, "is there, and tessera")
        expect_refusal(program.call(*words, "-o", nowhere), 74, "no folder/file.*No such file")
        many = program.call(*words, "-o", precious, ranks=2)
        expect(many.returncode == 2 and many.stderr_text.count("did not write it") == 1,
               many.stderr_text)
        own = program.scratch / words[0]
        for _ in range(2):  # its own may be replaced
            done = program.call(*words, "-o", own)
            expect(done.returncode == 0, done.stderr_text)
    left = sorted(p.name for p in program.scratch.iterdir())
    expect(left == ["found", "plan", "precious.yaml", "scale"], left)


@check
def sweep_of_traffic_is_ranked_by_what_it_measures(program):
    sweep = program.scratch / "rates.yaml"
    text = ("experiment: %s\naxes: {workload.rate: [0.02, 0.01]}\nset: {workload.cycles: 500}\n"
            "report: [measured.latency_p50%%s]\n" % (HERE.parent.parent / "configs" / "experiments" / "traffic_wafer.yaml"))
    sweep.write_text(text % "_ps", encoding="utf-8")
    done = program.call("sweep", sweep, "-q", "-o", program.folder)
    expect(done.returncode == 0 and "best by smallest measured.latency_mean_ps" in done.stdout_text, done.stdout_text)
    sweep.write_text(text % "", encoding="utf-8")
    expect_refusal(program.call("sweep", sweep, "-q", "-o", program.folder), 2,
                   "rates.yaml:4:1: error: report: unknown column 'measured.latency_p50'; did you mean")


@check
def what_no_machine_states_ranks_nothing(program):
    """A machine without power has no energy, which is not the smallest."""
    sweep = program.scratch / "energy.yaml"
    sweep.write_text("experiment: %s\naxes: {machine.power.idle: [0, 100]}\n"
                     "objective: {minimize: energy_j_per_iteration}\n" % (HERE / "short.yaml"), encoding="utf-8")
    done = program.call("sweep", sweep, "-q", "-o", program.folder)
    expect(done.returncode == 0 and "2 points, 2 finished; best by smallest energy_j_per_iteration\n"
           "1 of them have no energy_j_per_iteration and are not ranked\n" in done.stdout_text, done.stdout_text)
    head, *rows = (line.split(",") for line in csv_of(program.folder).splitlines())
    energies = [row[head.index("energy_j_per_iteration")] for row in rows]
    expect(energies[0] == "" and float(energies[1]) > 0, energies)
