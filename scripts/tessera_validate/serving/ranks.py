"""Every kind of service on one to four ranks, and what goes in and comes out of each."""

import json
import re
from collections import defaultdict
from dataclasses import dataclass

from page import EXPERIMENTS, ROOT, Runner, call, summary_of, trace_rows

PARALLEL = ROOT / "tests" / "parallel"
RANKS = (1, 2, 3, 4)
# Of the line that `tessera check` has for a replica: its name, requests of its model, and room of its cache.
REPLICA = re.compile(r"^(?P<name>\S+) +\d+ +(?P<requests>\d+|as long as others) +\d+ +(?:(?P<tokens>\d+)$|(?P<blocks>\d+) blocks|-$)",
                     re.MULTILINE)


def experiments(reduced):
    small = [PARALLEL / "npu_serving.yaml", *sorted(PARALLEL.glob("serving_*.yaml"))]
    return small[:2] if reduced else [*small, *sorted(EXPERIMENTS.glob("serving_*.yaml"))]


def name_of(path):
    return f"`{path.relative_to(ROOT)}`"


@dataclass
class Account:
    """Of a model, its replicas together."""
    requests: int = 0  # asked for
    capacity: int = 0  # blocks, of the replica with the most
    served: int = 0
    generated: int = 0  # of requests that were served, as each has it
    given: int = 0  # tokens, one by one
    told: int = 0  # tokens, by the summary
    most: int = 0  # blocks taken
    over: bool = False  # more blocks than there are
    left: int = 0  # requests that run or wait at the end


def model_of(replica, names):
    """Replicas are called MODEL.NUMBER."""
    stem, _, number = replica.rpartition(".")
    return stem if number.isdigit() and f"{stem}.0" in names else replica


def rooms(runner, path):
    """{replica: (requests of its model, blocks of its cache)}; a block has 16 tokens, or what its file says."""
    text = path.read_text(encoding="utf-8")
    sizes = {name: int(size) for name, size in re.findall(r"- name: (\S+)\n(?:(?!    - name:).*\n)*?.*\bblock: (\d+)", text)}
    found = {}
    for line in REPLICA.finditer(runner.check(path).stdout):
        name = line["name"]
        size = sizes.get(name.partition(".")[0], 16)
        blocks = int(line["blocks"] or 0) or int(line["tokens"] or 0) // size  # none: it has no cache
        found[name] = (0 if line["requests"].startswith("as") else int(line["requests"]), blocks)
    return found


def last_of(rows):
    """Of each replica, by number, what it holds in the end, and the most blocks that it held."""
    last, most = {}, defaultdict(int)
    for row in rows:
        last[row["tenant"]] = row
        most[row["tenant"]] = max(most[row["tenant"]], row["cache_blocks"])
    return last, most


def accounts(runner, path):
    """{model: Account} of a run on one rank."""
    output = runner.new_folder(path)
    call(runner.command(path, output, 1, ["-q", "-q", "--trace", "full"]))
    services, room = summary_of(output)["services"], rooms(runner, path)
    names = [one["tenant"] for one in services]
    models = [model_of(name, names) for name in names]
    found = defaultdict(Account)
    last, most = last_of(trace_rows(output, "service_load"))
    for number, (name, model, service) in enumerate(zip(names, models, services)):
        account = found[model]
        requests, blocks = room.get(name, (0, 0))
        account.requests, account.capacity = max(account.requests, requests), max(account.capacity, blocks)
        account.told += service["tokens"]
        account.most = max(account.most, most[number])
        account.over |= name in room and most[number] > blocks
        account.left += sum(last[number][what] for what in ("running", "waiting")) if number in last else 0
    for row in trace_rows(output, "requests"):
        found[models[row["tenant"]]].served += 1
        found[models[row["tenant"]]].generated += row["generated"]
    for row in trace_rows(output, "tokens"):
        found[models[row["tenant"]]].given += 1
    return found


def asked_tokens(path):
    """That the file of requests which a case names wants generated; none: it names no such file."""
    named = re.search(r"file: (\S+\.jsonl)", path.read_text(encoding="utf-8"))
    if not named:
        return None
    rows = [json.loads(line) for line in (path.parent / named[1]).read_text(encoding="utf-8").splitlines()]
    return sum(row["output_length"] for row in rows)


def conservation(report, runner, paths):
    report.say("### What goes in comes out")
    report.say()
    report.say("For each model, over all its replicas, from the trace of a run on one rank: every request that was "
               "asked for is served and none is left; the tokens counted one by one equal those of the requests and "
               "those of the summary; and no replica holds more blocks than its cache has (`tessera check`). In cases "
               "with `serving_whole.jsonl`, the first model generates as many tokens as the file asks for.")
    report.say()
    rows = []
    for path in paths:
        asked = asked_tokens(path)
        for model, one in accounts(runner, path).items():
            kept = (not one.requests or one.served == one.requests) and one.left == 0 and not one.over
            even = one.generated == one.given == one.told and asked in (None, one.generated)
            asked_here, asked = asked, None  # the first model alone
            held = report.bound(kept and even, f"{path.stem}, {model}: requests and tokens in are those out")
            rows.append((name_of(path), model, one.requests or "as long as others", one.served, one.left,
                         "" if asked_here is None else asked_here, one.generated, one.given, one.told,
                         f"{one.most} of {one.capacity}" if one.capacity else "no cache", held))
    report.table(("experiment", "model", "requests asked for", "served", "left", "tokens asked for by the file",
                  "tokens of requests", "tokens one by one", "tokens of the summary", "most blocks of a replica", ""), rows)


def on_ranks(report, runner, paths, ranks):
    rows = []
    for path in paths:
        nodes = json.loads(runner.check(path, ("--json",)).stdout)["nodes"]
        some = [count for count in ranks if count <= nodes]
        found = [runner.run(path, count) for count in some]
        digests = {one["result_digest"] for one in found}
        held = report.bound(len(digests) == 1, f"{path.stem}: one digest on {some} ranks")
        rows.append((name_of(path), ", ".join(map(str, some)), found[0]["events"],
                     " ".join(f"`{digest}`" for digest in sorted(digests)), held))
    report.table(("experiment", "ranks", "events", "digest", "equal"), rows)


def sections(report, program, folder, setting):
    runner = Runner(program, folder)
    paths = experiments(setting.reduced)
    report.say("## Serving: every kind on ranks")
    report.say()
    report.say("Services on cores and on tiles, of language models and of ONNX models: with tensor and pipeline "
               "parallelism, walked and whole steps, separate replicas for prompts and tokens, keys sent whole and by "
               "layers, experts spread over replicas, windows and states, and request classes with a cache that is "
               "too small and tiers behind it. A machine is partitioned over at most as many ranks as it has nodes.")
    report.say()
    on_ranks(report, runner, paths, RANKS[:2] if setting.reduced else RANKS)
    conservation(report, runner, paths)
