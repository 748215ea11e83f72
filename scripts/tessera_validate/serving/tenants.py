"""Several workloads on one wafer at the same time, each beside itself alone."""

import re

from page import EXPERIMENTS, ROOT, Runner

TOGETHER = EXPERIMENTS / "tenants_wafer.yaml"
PARALLEL = ROOT / "tests" / "parallel"
# Kind of workload, and an experiment of it.
KINDS = (("onnx", "npu_model"), ("operators", "npu_chip"), ("chakra", "graph_trace"),
         ("graph", "graph_vertices"), ("collective", "graph_stack"), ("transformer", "mesh_flit"),
         ("transformer, inference", "torus_inference"), ("serving", "npu_serving"))
# How the wafer differs, and settings of it.
NOTHING_SHARED = ("nothing shared (analytical, bandwidth)",
                  ("machine.network.model=analytical", "machine.memory.model=bandwidth"))
WAFERS = (("as it is", ()),
          ("memories half as fast", ("machine.dram.bandwidth=32 GB/s",)),
          ("links half as fast", ("machine.topology.bandwidth=64 GB/s",)),
          ("memories with banks and rows (LPDDR5)",
           ("machine.memory={model: dram, preset: LPDDR5}", "machine.dram.bandwidth=51.2 GB/s")),
          NOTHING_SHARED)
LEAST = 0.98
# How who comes together goes on, and settings of it.
CHANNELS, LINKS = "machine.memory.arbitration=", "machine.network.arbitration="
BY_TENANTS = (CHANNELS + "fair-tenants", LINKS + "fair-tenants")
ARBITRATIONS = (("first come, first served", ()),
                ("links by tenants", (LINKS + "fair-tenants",)),
                ("channels by tiles", (CHANNELS + "fair",)),
                ("channels by tenants", (CHANNELS + "fair-tenants",)),
                ("both by tiles", (CHANNELS + "fair", LINKS + "fair")),
                ("both by tenants", BY_TENANTS),
                ("both by tenants, bursts of 64 KiB", (*BY_TENANTS, "machine.memory.max_bursts=256")),
                ("both by tenants, bursts of 16 KiB",
                 (*BY_TENANTS, "machine.memory.max_bursts=256", "machine.memory.burst=16 KiB")))
EVEN = 2.0  # two tenants meet at most, at the memories of the west and of the east
# What a device with banks and rows takes in next: keys of its memory.
LINE, TURNS = "all in one line", "a port that takes who asks in turn, and queues of banks"
TAKING_IN = ((LINE, "preset: LPDDR5"),
             ("all in one line, queues of banks", "preset: LPDDR5, scheduler: bank-queues"),
             ("a port that takes who asks in turn", "preset: LPDDR5, port: 1 TB/s"),
             (TURNS, "preset: LPDDR5, port: 1 TB/s, scheduler: bank-queues"))
RANKS = (1, 2, 3, 4)


def anywhere(text, folder):
    """An experiment of `folder` that may stand in another one."""
    return re.sub(r"(?<![\w./])((?:\.\./)*[\w./-]+\.(?:yaml|onnx|json))",
                  lambda found: str((folder / found.group(1)).resolve()),
                  re.sub(r"(traces: )(\S+)", lambda found: found.group(1)
                         + str((folder / found.group(2)).resolve()), text))


def blocks_of(text):
    """Keys of the file's mapping, each with its lines."""
    found = {}
    for line in text.splitlines(keepends=True):
        key = re.match(r"([a-z_]+):", line)
        if key:
            name = key.group(1)
        elif not line.strip() or line.startswith("#"):
            continue
        found[name] = found.get(name, "") + line
    return found


def as_tenant(text):
    """The same experiment, its workload that of one tenant, who has all tiles."""
    blocks = blocks_of(text)
    own = "".join(blocks.pop(key, "") for key in ("workload", "strategy", "execution"))
    own = "".join("      " + line for line in own.splitlines(keepends=True))
    return ("".join(blocks.values()) + "workload:\n  kind: tenants\n  tenants:\n"
            "    - name: only\n      tiles: all\n" + own)


def by_themselves(report, runner, folder, setting):
    report.say("## Tenants: one that has all of a machine")
    report.say()
    report.say("Experiments of `tests/parallel`, each also run as the workload of a single tenant that "
               "has all tiles: every result must be the same, as the digests show. `sim/tenants_test` "
               "compares tenants on part of a machine with a machine of that part alone.")
    report.say()
    rows = []
    for kind, name in KINDS[:4] if setting.reduced else KINDS:
        text = anywhere((PARALLEL / f"{name}.yaml").read_text(encoding="utf-8"), PARALLEL)
        path = folder / f"{name}_tenant.yaml"
        path.write_text(as_tenant(text), encoding="utf-8")
        alone, tenant = runner.run(PARALLEL / f"{name}.yaml"), runner.run(path)
        same = all(alone[key] == tenant[key] for key in ("result_digest", "simulated_time_ps", "events"))
        holds = report.bound(same, f"tenant, {kind}: the same as by itself")
        rows.append((kind, f"`tests/parallel/{name}.yaml`", f"{alone['simulated_time_ps'] / 1e6:.3f}",
                     f"{tenant['tenants'][0]['end_ps'] / 1e6:.3f}", f"`{alone['result_digest'][:8]}…`",
                     f"`{tenant['result_digest'][:8]}…` ({holds})"))
    report.table(["workload", "experiment", "simulated [µs]", "as a tenant [µs]", "digest", "as a tenant"],
                 rows)


def tenants_of(text):
    """What stands before the tenants, and each with its name."""
    head, rest = text.split("  tenants:\n")
    texts = re.split(r"(?m)^(?=    - name: )", rest)[1:]
    return head + "  tenants:\n", {re.match(r"    - name: (\S+)", one).group(1): one for one in texts}


def by_name(summary):
    return {tenant["name"]: tenant for tenant in summary["tenants"]}


def beside_each_other(report, runner, folder, setting):
    report.say("## Tenants: alone and together")
    report.say()
    report.say(f"`configs/experiments/{TOGETHER.name}`: two ONNX models on NPU cores, a recorded training "
               "step (Chakra) and a generated transformer in inference, on a wafer of 8 × 8 tiles with "
               "memories on two sides. Iteration times of each tenant alone on its tiles of the same "
               "wafer, and of all together. Shared resources slow tenants down: `ocr` and `chat` share the "
               "memories of the west, `voice` and `step` share links and the memories of the east. A "
               "memory serves requests in order of arrival, so that a tenant with small requests (a core's "
               "blocks) waits for one with large requests (a stage whose weights do not fit its SRAM), and "
               "hardly the other way round. A delay may even help, because queues are then served in "
               "a different order (slow-downs below 1). So no tenant may be faster than "
               f"{LEAST} of its time alone; where the models share nothing, times must be equal.")
    report.say()
    head, texts = tenants_of(anywhere(TOGETHER.read_text(encoding="utf-8"), TOGETHER.parent))
    rows = []
    for wafer, settings in (WAFERS[0], NOTHING_SHARED) if setting.reduced else WAFERS:
        extra = [word for one in settings for word in ("--set", one)]
        together = by_name(runner.run(TOGETHER, 1, extra))
        for name, text in texts.items():
            path = folder / f"{name}.yaml"
            path.write_text(head + text, encoding="utf-8")
            alone = by_name(runner.run(path, 1, extra))[name]
            both = together[name]
            slower = both["iteration_time_ps"] / alone["iteration_time_ps"]
            if wafer == NOTHING_SHARED[0]:
                holds = report.bound(both["end_ps"] == alone["end_ps"], f"{wafer}, {name}: equal times")
            else:
                holds = report.bound(slower >= LEAST, f"{wafer}, {name}: {slower:.4f} times as slow, at "
                                     f"least {LEAST}")
            rows.append((wafer, name, both["workload"], both["tiles"], both["iterations"],
                         f"{alone['iteration_time_ps'] / 1e6:.3f}", f"{both['iteration_time_ps'] / 1e6:.3f}",
                         f"{slower:.4f} ({holds})"))
        slowest = max(float(row[-1].split()[0]) for row in rows if row[0] == wafer)
        if wafer != NOTHING_SHARED[0]:
            report.bound(slowest > 1.5, f"{wafer}: some tenant is slowed down at least 1.5 times ({slowest:.2f})")
    report.table(["wafer", "tenant", "workload", "tiles", "iterations", "alone [µs]", "together [µs]",
                  "slow-down"], rows)


def slower_by(runner, folder, settings):
    """Of each tenant: its time of an iteration beside the others, in that of itself alone."""
    extra = [word for one in settings for word in ("--set", one)]
    together = by_name(runner.run(TOGETHER, 1, extra))
    head, texts = tenants_of(anywhere(TOGETHER.read_text(encoding="utf-8"), TOGETHER.parent))
    slower = {}
    for name, text in texts.items():
        path = folder / f"{name}.yaml"
        path.write_text(head + text, encoding="utf-8")
        alone = by_name(runner.run(path, 1, extra))[name]
        slower[name] = together[name]["iteration_time_ps"] / alone["iteration_time_ps"]
    return slower


def in_even_parts(report, runner, folder, setting):
    report.say("## Tenants: even parts")
    report.say()
    report.say("The same wafer with links and memory channels shared fairly among those that wait "
               "(`machine.network.arbitration`, `machine.memory.arbitration`: start-time fair queueing, by requesting "
               "tile or by tenant). The time of each tenant beside the others, relative to its time alone with the "
               "same settings.")
    report.say()
    rows, slowest, chat = [], {}, {}
    for arrangement, settings in (ARBITRATIONS[0], *ARBITRATIONS[5:]) if setting.reduced else ARBITRATIONS:
        slower = slower_by(runner, folder, settings)
        slowest[arrangement], chat[arrangement] = max(slower.values()), slower["chat"]
        rows.append((arrangement, *(f"{times:.3f}" for times in slower.values())))
    report.table(["waiting", *(f"{name} [times as slow]" for name in slower)], rows)
    before, after = (slowest[ARBITRATIONS[place][0]] for place in (0, 5))
    quarter = report.bound(4 * after <= before, f"even parts: the slowest tenant {before:.2f} times, then {after:.2f}")
    whole, smaller = (slowest[ARBITRATIONS[place][0]] for place in (6, 7))
    even = report.bound(whole <= EVEN, f"even parts, bursts of 64 KiB: {whole:.2f} times, at most {EVEN}")
    report.say("With first come, first served, `ocr`, whose cores request blocks, waits for all outstanding requests "
               f"of `chat`, which streams weights, and takes {before:.2f} times as long as alone. With fair sharing "
               f"it takes {after:.2f} times as long (at most a quarter: {quarter}), and `chat` "
               f"{chat[ARBITRATIONS[5][0]]:.3f} times, since `ocr` requests little. An even share would be at most "
               f"{EVEN:.0f} times. Beyond it is the wait for the burst of `chat` in service, which by default is a "
               f"sixteenth of an access of megabytes: with bursts of 64 KiB `ocr` takes {whole:.2f} times as long "
               f"({even}), with bursts of 16 KiB {smaller:.2f} times.")
    report.say()


def with_banks_and_rows(report, runner, folder, setting):
    report.say("### Even parts of memories with banks and rows")
    report.say()
    report.say("The memory `dram` has no `arbitration`. Behind a `port`, a channel accepts one burst at a time, from "
               "the requesters in turn; with `scheduler: bank-queues` it accepts a burst only if the queue of that "
               "bank has room. The same wafer and tenants, with links first come, first served and "
               "`machine.dram.bandwidth=51.2 GB/s`.")
    report.say()
    rows, slowest = [], {}
    for arrangement, keys in (TAKING_IN[0], TAKING_IN[-1]) if setting.reduced else TAKING_IN:
        slower = slower_by(runner, folder, (f"machine.memory={{model: dram, {keys}}}", "machine.dram.bandwidth=51.2 GB/s"))
        slowest[arrangement] = max(slower.values())
        rows.append((arrangement, f"`{keys}`", *(f"{times:.3f}" for times in slower.values())))
    report.table(["bursts that wait", "`machine.memory: {model: dram, ...}`",
                  *(f"{name} [times as slow]" for name in slower)], rows)
    single = [slowest[arrangement] for arrangement, _ in TAKING_IN[1:-1] if arrangement in slowest]
    turns = report.bound(slowest[TURNS] <= EVEN, f"even parts of banks and rows: {slowest[TURNS]:.2f} times, at most {EVEN}")
    report.say(f"The slowest tenant takes {slowest[LINE]:.2f} times as long as alone with all bursts in one line, and "
               f"{slowest[TURNS]:.2f} times with both keys (at most {EVEN:.0f}: {turns})"
               + (f"; with one key alone, {' and '.join(f'{times:.2f}' for times in single)} times" if single else "")
               + ". Shares are per tile, so that a tenant with more requesting tiles gets more.")
    report.say()


def on_ranks(report, runner, setting):
    report.say("## Tenants: on ranks")
    report.say()
    rows = []
    for ranks in RANKS[:2] if setting.reduced else RANKS:
        one = runner.run(TOGETHER, ranks)
        rows.append((ranks, one["events"], f"`{one['result_digest']}`", f"{one['imbalance']:.2f}",
                     f"{one['predicted_bytes'] / 1e6:.1f}", f"{max(one['peak_rss_bytes']) / 1e6:.1f}"))
    same = len({row[2] for row in rows}) == 1
    report.table(["ranks", "events", "digest", "imbalance by weight", "memory predicted [MB]",
                  "memory used [MB]"], rows)
    report.say(f"Digests are equal: {report.bound(same, 'tenants: equal digests on ranks')}.")
    report.say()


def sections(report, program, folder, setting):
    runner = Runner(program, folder)
    by_themselves(report, runner, folder, setting)
    beside_each_other(report, runner, folder, setting)
    in_even_parts(report, runner, folder, setting)
    with_banks_and_rows(report, runner, folder, setting)
    on_ranks(report, runner, setting)
