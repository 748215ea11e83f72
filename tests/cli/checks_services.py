"""How services are sized and laid out."""
import json
import math
import re
import shutil

from checks_plans import small, stopped_plan
from program import check, expect, expect_refusal, fits

# A token reads all weights, 200 kB at 64 GB/s; NPUs of a tensor group add up over links of 10 ns.
SERVICE = """name: service
machine:
  topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 64 GB/s, latency: 10 ns}
  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}
  dram: {at: each, bandwidth: 64 GB/s, latency: 100 ns, capacity: 4 MB}
  network: {model: analytical}
  compute: {model: roofline}
workload:
  kind: serving
  steps: whole
  tenants:
    - name: chat
      language_model: {layers: 2, hidden: 64, heads: 4, sequence: 256, vocabulary: 64}
      batching: {sequences: 2}
      target: {latency: 300 us}
      requests: {arrivals: poisson, rate: 5000, count: 60, prompt: 8, generate: 16}
"""


def service(program, text=SERVICE):
    path = program.scratch / "service.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@check
def plan_of_a_service_uses_all_ranks(program):
    words = ["plan", service(program), "-q", "--within", "0.1", "--folder", program.scratch / "found"]
    one = program.call(*words, "--json")
    expect(one.returncode == 0, one.stderr_text)
    answer = json.loads(one.stdout_text)
    fits(answer, "capacity.schema.json")
    best = answer["rows"][0]
    expect(best["status"] == "met" and answer["complete"], answer)
    two = program.call(*words, "--json", ranks=2)
    expect((two.returncode, two.stdout_text) == (0, one.stdout_text), two.stderr_text + two.stdout_text)
    table = program.call(*words, ranks=2)
    expect(table.stdout_text.count("takes the best") == 1, table.stdout_text)
    other = program.call(*words, "--set", "workload.tenants.0.target={latency: 310 us}")
    expect(" --set 'workload.tenants.0.target={latency: 310 us}' --set workload.tenants.0.tensor=" in
           other.stdout_text, "the command lacks what plan was asked with: " + other.stdout_text)
    settings = [word for key, value in best["values"].items() for word in ("--set", "%s=%s" % (key, value))]
    ran = program.call("run", words[1], *settings, "-q", "-o", program.folder)
    expect(ran.returncode == 0, ran.stderr_text)


@check
def plan_writes_the_best_service(program):
    """As an experiment that runs as it is, with the layout of the first row."""
    best = program.scratch / "best.yaml"
    words = ["plan", service(program), "-q", "--within", "0.1", "--folder", program.scratch / "found", "-o", best]
    done = program.call(*words, "--json", ranks=2)
    expect(done.returncode == 0 and "written to %s; tessera run %s takes the best" % (best, best) in done.stderr_text,
           done.stderr_text)
    row = json.loads(done.stdout_text)["rows"][0]
    tenant = re.split(r"\n +- ", best.read_text(encoding="utf-8"))[1]
    for key, value in row["values"].items():
        expect(re.search(r"^ *%s: %s$" % (key.rsplit(".", 1)[1], value), tenant, re.MULTILINE), (key, value, tenant))
    ran = program.call("run", best, "-q", "-o", program.folder)
    expect(ran.returncode == 0, ran.stderr_text)
    settings = [word for key, value in row["values"].items() for word in ("--set", "%s=%s" % (key, value))]
    again = program.scratch / "again"
    expect(program.call("run", words[1], *settings, "-q", "-o", again).returncode == 0, "the same by settings")
    expect(program.summary()["services"] == program.summary(again)["services"], "another service")
    expect(program.call(*words).returncode == 0, "its own file is replaced")
    best.write_text("mine: 1\n", encoding="utf-8")
    expect_refusal(program.call(*words), 2, "best.yaml")


@check
def plan_of_a_service_that_is_stopped_says_what_it_left(program):
    text = SERVICE.replace("count: 60", "count: 4000").replace("rows: 2, columns: 2", "rows: 4, columns: 4")
    found, best = program.scratch / "found", program.scratch / "best.yaml"
    words = ["plan", service(program, text), "-q", "--all", "--within", "0.01", "--folder", found, "-o", best, "--json"]
    out, err = stopped_plan(program, words, (found / "plan.json").exists)
    answer = json.loads(out)
    fits(answer, "capacity.schema.json")
    expect(not answer["complete"] and answer["left"] > 0, answer)
    how_far = "rates of %d of %d layouts were searched, %d were left" % (
        len(answer["rows"]), len(answer["rows"]) + answer["left"], answer["left"])
    expect("the best so far (the search was stopped: %s)" % how_far in err, err)
    expect("# The search was stopped: %s.\n" % how_far in best.read_text(encoding="utf-8"), best.read_text())


@check
def plan_of_a_service_is_gone_on_with(program):
    found = program.scratch / "found"
    words = ["plan", service(program), "-q", "--within", "0.1", "--json"]
    whole = program.call(*words, "--folder", found)
    expect(whole.returncode == 0, whole.stderr_text)
    expect(json.loads((found / "plan.json").read_text()) == json.loads(whole.stdout_text),
           "another answer in the folder")
    log = found / "simulated.0.log"
    lines = log.read_text().splitlines(keepends=True)
    searches = [line for line in lines if " confirming " not in line]
    expect(len(searches) == len(json.loads(whole.stdout_text)["rows"]) < len(lines), lines)
    log.write_text("".join(lines[:5]) + lines[5][:len(lines[5]) // 2])  # as a kill leaves it
    again = program.call("plan", "--resume", found, "-q", "--json", ranks=2)
    expect((again.returncode, again.stdout_text) == (0, whole.stdout_text), again.stderr_text)
    kept = sum((found / name).read_text().count("\t.\n") for name in ("simulated.0.log", "simulated.1.log"))
    expect(kept == len(lines), "%d of %d searches are kept" % (kept, len(lines)))
    expect_refusal(program.call("plan", "--resume", found, "--within", "0.2"), 2,
                   "does not go together with --within")
    expect_refusal(program.call("plan", "--resume", found, "--top", "2"), 2,
                   "--top means nothing for a service")
    service(program, SERVICE.replace("count: 60", "count: 61"))
    expect_refusal(program.call("plan", "--resume", found), 2, "is not as it was when the search began")
    expect_refusal(program.call(*words, "--folder", program.scratch), 2, "which is of no search")


@check
def searches_notice_files_of_requests(program):
    log = program.scratch / "log.csv"
    log.write_text("at [s],prompt,generate\n" + "0,8,16\n" * 9, encoding="utf-8")
    text = SERVICE.replace("prompt: 8, generate: 16", "file: log.csv")
    expect(text != SERVICE, text)
    sweep = program.scratch / "sweep.yaml"
    sweep.write_text("experiment: service.yaml\naxes: {workload.tenants.0.batching.sequences: [1, 2]}\n",
                     encoding="utf-8")
    plan = ["plan", service(program, text), "-q", "--within", "0.2", "--json", "--folder", program.scratch / "found"]
    for first, again, what in ((plan, ["plan", "--resume", program.scratch / "found", "-q", "--json"], "search"),
                               (["sweep", sweep, "-q", "-o", program.folder],
                                ["sweep", "--resume", program.folder, "-q"], "sweep")):
        for words in (first, again):
            done = program.call(*words)
            expect(done.returncode == 0, done.stderr_text)
        before = log.read_text()
        log.write_text(before.replace("8,16", "8,17", 1), encoding="utf-8")
        expect_refusal(program.call(*again), 2, "is not as it was when the %s began" % what)
        log.write_text(before, encoding="utf-8")


@check
def run_that_goes_on_notices_files_of_requests(program):
    log = program.scratch / "log.csv"
    log.write_text("at [s],prompt,generate\n" + "0,8,16\n" * 9, encoding="utf-8")
    done = program.call("run", service(program, SERVICE.replace("prompt: 8, generate: 16", "file: log.csv")), "-q",
                        "-o", program.folder, "--checkpoint-every", "sim:1 ms")
    expect(done.returncode == 0, done.stderr_text)
    digest = program.summary()["result_digest"]
    (program.folder / "summary.json").unlink()  # as a kill leaves it
    before = log.read_text()
    log.write_text(before.replace("8,16", "8,17", 1), encoding="utf-8")
    expect_refusal(program.call("run", "--resume", program.folder), 2, "log.csv.* is not as it was when the checkpoint")
    log.write_text(before, encoding="utf-8")
    done = program.call("run", "--resume", program.folder, "-q")
    expect(done.returncode == 0, done.stderr_text)
    expect(program.summary()["result_digest"] == digest, "another result")


@check
def capacity_uses_all_ranks(program):
    words = ["capacity", service(program), "-q", "--within", "0.2", "--json", "--over",
             "workload.tenants.0.replicas=1,2,5"]
    one = program.call(*words)
    expect(one.returncode == 0, one.stderr_text)
    fits(json.loads(one.stdout_text), "capacity.schema.json")
    expect([row["status"] for row in json.loads(one.stdout_text)["rows"]] == ["met", "met", "refused"],
           one.stdout_text)
    two = program.call(*words, ranks=2)
    expect((two.returncode, two.stdout_text) == (0, one.stdout_text), two.stderr_text + two.stdout_text)
    never = program.call(*words[:-2], "--set", "workload.tenants.0.target.latency=1 ns", ranks=2)
    expect(never.returncode == 3 and json.loads(never.stdout_text)["rows"][0]["status"] == "late",
           never.stdout_text)


@check
def sweep_of_a_service_reports_what_it_is_judged_by(program):
    """On any number of ranks, in its table, its files and its pictures."""
    service(program, SERVICE.replace("      target", "      price: 2\n      target"))
    sweep = program.scratch / "sweep.yaml"
    sweep.write_text("experiment: service.yaml\naxes: {workload.tenants.0.replicas: [1, 2]}\n"
                     "objective: {minimize: services.chat.first_token_ps.p99}\n"
                     "report: [services.0.met_per_s, service_totals.0.latency_ps.p90]\n", encoding="utf-8")
    texts = []
    for ranks in (1, 2):
        done = program.call("sweep", sweep, "-q", "-o", program.folder, ranks=ranks)
        expect(done.returncode == 0, done.stderr_text)
        expect("best by smallest services.chat.first_token_ps.p99" in done.stdout_text, done.stdout_text)
        texts.append((program.folder / "sweep.csv").read_text())
    expect(texts[0] == texts[1], texts)
    head, *rows = [line.split(",") for line in texts[0].splitlines()]
    expect("memory_per_tile_bytes" not in head, head)
    for name in ("met_per_s", "between_tokens_ps.p99", "cost_a_million_tokens"):
        expect(all(float(row[head.index("services.chat." + name)]) > 0 for row in rows), (name, rows))
    totals = head.index("service_totals.0.latency_ps.p90")
    expect([row[totals] == "" for row in rows] == [True, False], rows)  # one replica has no totals
    report = program.call("report", program.folder)
    expect(report.returncode == 0, report.stderr_text)


@check
def capacity_does_not_answer_for_bursts(program):
    """All requests of a short list that come at once may meet their targets; the rate is another."""
    rates = []
    for count in (60, 3000):
        text = SERVICE.replace("latency: 300 us", "latency: 1 s").replace("count: 60", "count: %d" % count)
        found = program.call("capacity", service(program, text), "-q", "--within", "0.05", "--json")
        expect(found.returncode == 0, found.stderr_text)
        row = json.loads(found.stdout_text)["rows"][0]
        expect(row["status"] == "met" and row["beyond"] > 0, row)
        expect(row["services"][0]["served"] == count * row["times_count"], row)
        rates.append(row["rate"])
    expect(abs(rates[0] / rates[1] - 1) < 0.2, rates)


@check
def capacity_takes_more_requests_where_any_rate_meets_the_target(program):
    """One request is as fast at any rate."""
    rates = []
    for count in (1, 3000):
        text = SERVICE.replace("latency: 300 us", "latency: 1 s").replace("count: 60", "count: %d" % count)
        found = program.call("capacity", service(program, text), "-q", "--json")
        expect(found.returncode == 0, found.stderr_text)
        row = json.loads(found.stdout_text)["rows"][0]
        expect(row["status"] == "met" and row["beyond"] > row["rate"] > 0, row)
        rates.append(row["rate"])
    expect(rates[0] / rates[1] < 10, rates)


@check
def capacity_needs_a_target_with_a_limit(program):
    for target in ("target: {}", "classes: [{name: a, share: 1, target: {}}]"):
        text = re.sub(r"target: \{[^}]*\}", target, SERVICE)
        expect(target in text, text)
        expect_refusal(program.call("capacity", service(program, text), "-q"), 2,
                       "has a 'target' that could be met, nor has a class")


@check
def capacity_is_a_rate_that_lasts(program):
    """A few percent too many are a queue that grows: eight times as many requests still meet their targets."""
    text = SERVICE.replace("latency: 300 us", "first_token: 2 ms").replace("count: 60", "count: 500")
    found = program.call("capacity", service(program, text), "-q", "--json")
    expect(found.returncode == 0, found.stderr_text)
    row = json.loads(found.stdout_text)["rows"][0]
    ran = program.call("run", service(program, text), "-q", "-q", "--json", "-o", program.folder, "--set",
                       "workload.tenants.0.requests.rate=%r" % row["rate"], "--set",
                       "workload.tenants.0.requests.count=%d" % (8 * 500))
    one = json.loads(ran.stdout_text)["services"][0]
    expect(one["served"] == 4000 and one["met"] >= 0.9 * 4000, (row, one["met"]))


@check
def a_target_that_a_lone_request_misses_is_named(program):
    for command in ("plan", "capacity"):
        asked = [command, service(program, SERVICE.replace("latency: 300 us", "first_token: 1 ps")), "-q", "--json"]
        found = program.call(*asked, *(["--folder", program.scratch / "found"] if command == "plan" else []))
        expect(found.returncode == 3, found.stderr_text)
        for row in json.loads(found.stdout_text)["rows"]:
            named = re.search("target.first_token of chat is 1 ps, and 90 % of its requests take up to .*s, .* more",
                              row["message"])
            expect(row["runs"] <= 3 and named or row["status"] == "refused", row)


@check
def a_request_is_late_by_its_end_too(program):
    for more in ("", "replicas: 2\n      prefill: 1\n      ", "classes: [{name: all}]\n      "):
        text = SERVICE.replace("latency: 300 us", "latency: 1 us").replace("batching: {", more + "batching: {")
        ran = program.call("run", service(program, text), "-q", "-q", "--json", "-o", program.folder)
        expect(ran.returncode == 0, ran.stderr_text)
        summary = json.loads(ran.stdout_text)
        for one in (*summary.get("service_totals", []), *summary["services"][-1:]):
            expect((one["late_requests"], one["met"]) == (60, 0), (more, one))
            expect(one["a_token_ps"]["count"] == 60, one["a_token_ps"])
            windows = sum(window["a_token_ps"]["count"] * window["a_token_ps"]["mean"] for window in one["windows"])
            expect(abs(windows / 60 - one["a_token_ps"]["mean"]) <= len(one["windows"]), one["a_token_ps"])


@check
def plan_of_a_service_says_why_nothing_could_be_tried(program):
    asked = ["plan", service(program, SERVICE.replace("capacity: 4 MB", "capacity: 4 kB")), "-q", "--folder",
             program.scratch / "found"]
    found = program.call(*asked)
    expect(found.returncode == 3, found.stderr_text)
    expect(re.search("error: no layout could be tried: all [0-9]+ are refused or fail, [0-9]+ of them as: .*[0-9]+ B",
                     found.stderr_text), found.stderr_text)


@check
def capacity_of_a_trace_begins_with_its_speed_by_default(program):
    requests = program.scratch / "requests.csv"
    requests.write_text("arrival_s,input_tokens,output_tokens\n" +
                        "".join("%de-3,8,16\n" % number for number in range(40)), encoding="utf-8")
    text = SERVICE.replace("{arrivals: poisson, rate: 5000, count: 60, prompt: 8, generate: 16}",
                           "{arrivals: trace, file: %s}" % requests)
    found = program.call("capacity", service(program, text), "-q", "--within", "0.5", "--json", "--rate",
                         "workload.tenants.0.requests.speed")
    expect(found.returncode == 0, found.stderr_text)
    expect(json.loads(found.stdout_text)["rows"][0]["rate"] >= 1, found.stdout_text)
    expect_refusal(program.call("capacity", service(program, text), "-q"), 2,
                   "no such rate to begin with; .*: give --rate workload.tenants.0.requests.speed")


@check
def summary_of_a_service_fits_its_schema(program):
    text = SERVICE.replace("batching: {", "replicas: 2\n      batching: {")
    ran = program.call("run", service(program, text), "-q", "-q", "--json", "-o", program.folder)
    expect(ran.returncode == 0, ran.stderr_text)
    summary = json.loads(ran.stdout_text)
    fits(summary, "summary.schema.json")
    windows = summary["service_totals"][0]["windows"]
    expect(sum(one["latency_ps"]["count"] for one in windows) == 60, windows)


@check
def plan_of_a_service_refuses_what_it_cannot_plan(program):
    tenant = SERVICE[SERVICE.index("    - name: chat"):]
    for number, (text, words, complaint) in enumerate((
            (SERVICE + tenant.replace("chat", "talk"), [], "workload.tenants: .* one tenant, and there are 2"),
            (SERVICE.replace("      target: {latency: 300 us}\n", ""), [],
             "none of workload.tenants has a 'target' that could be met"),
            (SERVICE.replace("rate: 5000", "rate: 0"), [], "service.yaml:[0-9]+:[0-9]+: error: .*requests.rate: must be"),
            (SERVICE.replace("arrivals: poisson, rate: 5000", "arrivals: fixed, interval: 1 ms"), [],
             "no such rate to begin with"),
            (SERVICE.replace("      target", "      npus: [0]\n      target"), [],
             "npus: NPUs are what is planned"),
            (SERVICE, ["--within", "0"], "--within: expected a number from 0.000100 to 1"),
            (SERVICE, ["--share", "2"], "--share: expected a number from 0.001000 to 1"),
            (SERVICE, ["--rate", "workload.rate"], "workload.rate: the experiment has no such rate"),
            (SERVICE, ["--top", "3"], "--top means nothing for a service"),
            (SERVICE, ["--keep", "zero"], "--keep means nothing for a service"),
            (SERVICE, ["--devices", "0"], "--devices: "),
            (SERVICE.replace("rows: 2", "rows: two"), [], "service.yaml:3:[0-9]+: error: .*rows"))):
        asked = ["plan", service(program, text), "-q", "--folder", program.scratch / "found", *words]
        expect_refusal(program.call(*asked), 2, complaint)
        if number % 4 > 0:
            continue
        # Of a tenant, of NPUs and of an option: said once by all ranks. The launcher has something to say, too.
        many = program.call(*asked, ranks=2)
        expect(many.returncode == 2 and len(re.findall(complaint, many.stderr_text)) == 1, many.stderr_text)
    expect_refusal(program.call("capacity", service(program), "-q", "--over", "workload.tenants.0.replicas"),
                   2, "--over .*: expected KEY=VALUE,...")


def in_a_list_of_one(text, tiles="all"):
    """The service as the only job of a list."""
    machine, work = text[:text.index("workload:")], text[text.index("workload:"):]
    return machine + "workload:\n  kind: tenants\n  tenants:\n    - name: only\n      tiles: %s\n      %s\n" % (
        tiles, work.rstrip().replace("\n", "\n      "))


@check
def plan_of_a_service_takes_the_only_job_of_a_list(program):
    place = "workload.tenants.0."
    best = program.scratch / "best.yaml"
    answers = []
    for number, text in enumerate((SERVICE, in_a_list_of_one(SERVICE), in_a_list_of_one(SERVICE, "0-3"))):
        words = ["plan", service(program, text), "-q", "--within", "0.1", "--json", "--folder",
                 program.scratch / ("found%d" % number)]
        done = program.call(*words, ranks=1 + number % 2)
        expect(done.returncode == 0, done.stderr_text)
        answers.append(json.loads(done.stdout_text))
    expect(place + place + "tensor" in answers[1]["rows"][0]["values"], answers[1]["rows"][0])

    def found(answer):
        return [[row["status"], row["rate"]] + list(row["values"].values()) for row in answer["rows"]]

    expect(found(answers[0]) == found(answers[1]) == found(answers[2]), answers)
    expect("--set %s%stensor=" % (place, place) in done.stderr_text, done.stderr_text)
    service(program, in_a_list_of_one(SERVICE))
    again = program.call("plan", "--resume", program.scratch / "found1", "-q", "--json")
    expect(json.loads(again.stdout_text) == answers[1], again.stderr_text)
    words[-1] = program.scratch / "found1"
    expect(program.call(*words, "-o", best).returncode == 0, "no file")
    expect("%srequests.rate=" % (place * 2) in best.read_text(encoding="utf-8"), best.read_text(encoding="utf-8"))
    ran = program.call("run", best, "-q", "-o", program.folder)
    expect(ran.returncode == 0, ran.stderr_text)
    half = program.call("plan", service(program, in_a_list_of_one(SERVICE, "0-1")), "-q", "--within", "0.1", "--json",
                        "--folder", program.scratch / "half")
    npus = [math.prod(int(row["values"][place * 2 + key]) for key in ("tensor", "pipeline", "replicas"))
            for row in json.loads(half.stdout_text)["rows"]]
    expect(max(npus) == 2, npus)


@check
def capacity_takes_the_only_job_of_a_list(program):
    place = "workload.tenants.0."
    rate = place + "requests.rate"
    found = []
    for text, words in ((SERVICE, []), (in_a_list_of_one(SERVICE), []),
                        (in_a_list_of_one(SERVICE), ["--rate", place + rate])):
        done = program.call("capacity", service(program, text), "-q", "--within", "0.1", "--json", *words)
        expect(done.returncode == 0, done.stderr_text)
        found.append([(row["rate"], row["runs"]) for row in json.loads(done.stdout_text)["rows"]])
    expect(found[0] == found[1] == found[2], found)
    done = program.call("capacity", service(program, in_a_list_of_one(SERVICE)), "-q", "--within", "0.5", "--json",
                        "--over", place + place + "replicas=1,2")
    expect(done.returncode == 0 and len(json.loads(done.stdout_text)["rows"]) == 2, done.stderr_text)
    both = in_a_list_of_one(SERVICE, "[0]") + in_a_list_of_one(SERVICE, "[3]").partition("  tenants:\n")[2].replace(
        "name: only", "name: other")
    expect_refusal(program.call("capacity", service(program, both), "-q"), 2,
                   "a service that has the machine, and these are 2 jobs; give it an experiment of its own")
    other = SERVICE[:SERVICE.index("workload:")] + (
        "workload:\n  kind: tenants\n  tenants:\n    - {name: sum, tiles: all, workload: {kind: collective, collective: "
        "all-reduce, size: 1 MB}}\n")
    expect_refusal(program.call("capacity", service(program, other), "-q"), 2,
                   "workload.tenants.0.workload: serves no requests")


@check
def plan_says_what_the_file_is_that_it_does_not_replace(program):
    best = program.scratch / "best.yaml"
    for beginning, subject, what in (
            ("# A strategy that tessera plan proposed:\n", service(program), "is a strategy that tessera plan wrote"),
            ("# A service that tessera plan laid out:\n", small(program),
             "is the experiment of a service that tessera plan wrote")):
        best.write_text(beginning, encoding="utf-8")
        expect_refusal(program.call("plan", subject, "-q", "-o", best), 2, "best.yaml: error: is there, and " + what)


# Two layers of hidden 64 in fp16, a prompt of 8 tokens and 15 more that go in again: what units add up or hand on is
# 128 B a token, what a layer keeps of one 256 B.
ONE_REQUEST = SERVICE.replace("  steps: whole\n", "").replace(
    "{arrivals: poisson, rate: 5000, count: 60, prompt: 8, generate: 16}",
    "{arrivals: closed, count: 1, prompt: 8, generate: 16}")


def bytes_of(program, text, ranks=1):
    shutil.rmtree(program.folder, ignore_errors=True)
    ran = program.call("run", service(program, text), "-q", "-o", program.folder, ranks=ranks)
    expect(ran.returncode == 0, ran.stderr_text)
    summary = program.summary()
    return summary["message_bytes"], summary["collective_bytes"]


@check
def summary_of_a_service_has_the_bytes_that_its_units_sent(program):
    def cut(keys):
        return ONE_REQUEST.replace("      batching:", keys + "      batching:")

    tokens, of_token = 23, 128
    expect(bytes_of(program, ONE_REQUEST) == (0, 0), "one unit sends nothing")
    # Two all-reduces a layer, each of which sends both halves twice.
    added_up = 2 * 2 * 2 * tokens * of_token
    for ranks in (1, 2):
        sent = bytes_of(program, cut("      tensor: 2\n"), ranks)
        expect(sent == (0, added_up), "tensor: %s" % (sent,))
    sent = bytes_of(program, cut("      pipeline: 2\n"))
    expect(sent == (tokens * of_token, 0), "pipeline: %s" % (sent,))
    sent = bytes_of(program, cut("      replicas: 2\n      prefill: 1\n"))
    expect(sent == (2 * 8 * 256, 0), "caches that are handed over: %s" % (sent,))
    sent = bytes_of(program, SERVICE)
    expect(sent == (None, None), "whole steps: %s" % (sent,))


@check
def jobs_that_draw_alike_are_named(program):
    """Two jobs of equal seeds get their requests together; with seeds of their own they do not."""
    of_one = SERVICE[SERVICE.index("workload:"):].replace("\n", "\n      ").rstrip() + "\n"

    def said(*seeds):
        jobs = "".join("    - name: %s\n      tiles: [%d]\n      %s" % (name, tile, of_one.replace(
            "kind: serving", "kind: serving\n        seed: %d" % seed)) for name, tile, seed in zip("ab", (0, 3), seeds))
        text = SERVICE[:SERVICE.index("workload:")] + "workload:\n  kind: tenants\n  tenants:\n" + jobs
        done = program.call("check", service(program, text), "--json")
        expect(done.returncode == 0, done.stderr_text)
        return "\n".join(json.loads(done.stdout_text)["notes"])

    expect("requests of a/chat and b/chat are drawn from the same random numbers" in said(1, 1), said(1, 1))
    expect("random numbers" not in said(1, 2), said(1, 2))


@check
def a_long_prompt_takes_several_steps_and_a_note_says_so(program):
    prompt = SERVICE.replace("prompt: 8", "prompt: 9000").replace("sequence: 256", "sequence: 16384")
    for batching, more in (("sequences: 2, tokens: 16384", True), ("sequences: 2, tokens: 4096, chunk: 4096", False)):
        text = prompt.replace("batching: {sequences: 2}", "batching: {%s}" % batching).replace(
            "capacity: 4 MB", "capacity: 64 MB")
        done = program.call("check", service(program, text), "--json")
        expect(done.returncode == 0, done.stderr_text)
        notes = json.loads(done.stdout_text)["notes"]
        expect(any("tokens of one prompt, the following steps the rest" in note for note in notes) == more, notes)
