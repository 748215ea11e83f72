"""Systolic arrays: cycles against the seed's code and SCALE-Sim, all stepped with data; speed."""

from pathlib import Path

from bench_runs import Bench
from line_chart import line_chart
from page import ROOT, Runner, call, rows_of

DATAFLOWS = ("tpu", "non-stationary", "ws", "is", "os")
NAMES = {"TSSA": "tpu", "NSSA": "non-stationary"}
SPEED = 100e6  # MAC steps a CPU second; the seed's code: 0.8 million
PIPELINED = (1, 2, 3, 5, 7, 10, 15, 20)
PICTURE = ROOT / "results" / "npu_systolic.svg"
MACHINE = ROOT / "tests" / "parallel" / "torus_systolic.yaml"
# Products beyond an array of 32 x 32 and convolutions in groups: words of the command.
LARGER = ("100x64x96", "1x300x77", "257x33x1", "64x64x64,100x40x70,5x90x33",
          "14x14x32 --kernel 3x3x32 --padding 1 --groups 32", "28x28x24 --kernel 5x5x48 --stride 2 --groups 4")


class Arrays:
    """Products on arrays, each stepped with data beside the closed form; in a reduced run those on
    small arrays only."""

    def __init__(self, program, reduced):
        self.program = program
        self.reduced = reduced
        self.known = {}

    def rows(self, array, dataflow, words):
        """A dict of whole numbers and shares for each product. The command itself fails when the
        stepped array differs from the closed form or a product is wrong."""
        key = (array, dataflow, words)
        if key not in self.known:
            step = [] if self.reduced and array == "128x128" else ["--step"]
            lines = call([str(self.program), "systolic", "--array", array, "--dataflow", dataflow, *step,
                          *words.split()]).stdout.splitlines()
            if step:
                said = lines.pop()
                assert said.endswith("the same cycles, products right"), said
            self.known[key] = [read_row(line) for line in lines[1:]]
        return self.known[key]


def read_row(line):
    words = line.replace(" %", "").replace(" of ", "*").split()
    row = dict(zip(("product", "cycles", "complete", "utilisation", "mapped", "paper", "off"), words))
    return {name: word if name == "product" else float(word) if "." in word else int(word)
            for name, word in row.items()}


def sequence(row):
    """The products up to the row's: the file holds only some rows of a sequence."""
    side = int(row["R"])
    products = [f"{row['n']}x{row['m']}x{row['p']}"] * (int(row["index_in_sequence"]) + 1)
    if row["sequence"] == "pipe_small_then_large":
        products[0] = "x".join([str(side // 2)] * 3)
    elif row["sequence"] == "pipe_large_then_small":
        products[0] = "x".join([str(side)] * 3)
    return ",".join(products)


def seed_cycles(report, arrays):
    report.say("## Systolic arrays: cycles of Sinha and Lam's code")
    report.say()
    report.say("X (n × m) times W (m × p) on R × C MACs; `place` is the position in a sequence of pipelined products. "
               "`theirs`: cycle at which all outputs are in the accumulators of the public code, stepped "
               "(\"–\" where its result is never right). `ours`: closed form, and stepped with int8 data and the "
               "products checked. `paper`: equations (2) to (8), cycles since the previous product, and their "
               "difference from ours.")
    report.say()
    table, same, paper_same, paper_off = [], [], [], 0
    rows = rows_of("tpu_cycles.csv")
    for row in rows:
        dataflow = NAMES[row["design"]]
        ours = arrays.rows(f"{row['R']}x{row['C']}", dataflow, sequence(row))[-1]
        theirs = row["abs_cycle_complete_freerun"]
        if theirs:
            same.append(int(theirs) == ours["complete"])
        fits = dataflow == "tpu" or int(row["n"]) <= int(row["R"])
        if fits:
            paper_same.append(int(row["cycles_paper_formula"]) == ours["paper"])
        paper_off += ours["off"] != 0
        table.append([dataflow, f"{row['R']}×{row['C']}", f"{row['n']}×{row['m']}×{row['p']}",
                      row["sequence"], row["index_in_sequence"], theirs or "–", ours["complete"],
                      ours["paper"] if fits else f"{ours['paper']} ({row['cycles_paper_formula']} there)",
                      f"{ours['off']:+d}" if ours["off"] else ""])
    report.bound(all(same), f"{len(same)} cycles of Sinha and Lam's code: {sum(same)} equal")
    report.bound(all(paper_same), f"{len(paper_same)} values of the paper's equations: {sum(paper_same)} equal")
    report.say(f"{sum(same)} of {len(same)} cycles are equal; equations (2) to (8) differ from the stepped array in "
               f"{paper_off} of {len(rows)} rows. Where n > R on `non-stationary`, the reference file has the "
               "equations for a product that the array cannot take; ours splits it into tiles. Where the public code "
               "is never right (it changes weights after m cycles, not n), ours has no reference. Its set-up pads by "
               "max(0, n − m of the previous product), in rows `pipe_n2R` and `pipe_small_then_large`; ours pads in "
               "the same way between products, but not between tiles of one product.")
    report.say()
    report.table(["dataflow", "array", "n×m×p", "sequence", "place", "theirs", "ours", "paper", "off by"], table)


def scale_sim_cycles(report, arrays):
    report.say("## Systolic arrays: SCALE-Sim's cycles")
    report.say()
    report.say("SCALE-Sim v3, without stalls. Its `total_cycles` is the index of the last cycle, and its "
               "overall utilisation is relative to that; `theirs` is one more. Convolutions of stride 1 are given as "
               "such, those of stride 2 as the product, because SCALE-Sim rounds their output up to positions that "
               "leave the image (13 for 28, 5, 2). Utilisation in %.")
    report.say()
    table, cycles_same, use_same = [], [], []
    for row in rows_of("scalesim_cycles.csv"):
        words = f"{row['M']}x{row['K']}x{row['N']}"
        if row["kind"] == "conv" and row["stride"] == "1":
            words = f"{row['ih']}x{row['iw']}x{row['ch']} --kernel {row['fh']}x{row['fw']}x{row['nf']}"
        ours = arrays.rows(row["array"], row["dataflow"], words)[0]
        last = int(float(row["total_cycles"]))
        use = float(row["overall_util_pct"]) * last / (last + 1)
        cycles_same.append(ours["cycles"] == last + 1)
        use_same.append(abs(ours["utilisation"] - use) < 0.006
                        and abs(ours["mapped"] - float(row["mapping_eff_pct"])) < 0.006)
        table.append([row["dataflow"], row["array"], row["kind"], ours["product"], last + 1, ours["cycles"],
                      f"{use:.2f}", f"{ours['utilisation']:.2f}", f"{float(row['mapping_eff_pct']):.2f}",
                      f"{ours['mapped']:.2f}"])
    report.bound(all(cycles_same), f"{len(cycles_same)} cycles of SCALE-Sim: {sum(cycles_same)} equal")
    report.bound(all(use_same), f"{len(use_same)} utilisations of SCALE-Sim: {sum(use_same)} equal")
    report.say(f"{sum(cycles_same)} of {len(cycles_same)} cycles and {sum(use_same)} pairs of utilisations are equal. "
               "SCALE-Sim's third figure, compute utilisation, counts folds of `ws` and `is` as R − 1 cycles longer; "
               "the unit test derives it.")
    report.say()
    report.table(["dataflow", "array", "kind", "M×K×N", "theirs", "ours", "used, theirs", "ours",
                  "mapped, theirs", "ours"], table)


def larger_products(report, arrays):
    report.say("## Systolic arrays: products larger than the array, groups")
    report.say()
    report.say("Cycles on 32 × 32 MACs. The closed form equals the array stepped with data, and products are right. "
               "The unit tests do the same for 2000 random sequences, against Eigen.")
    report.say()
    report.table(["products", *DATAFLOWS],
                 [[words, *(arrays.rows("32x32", dataflow, words)[-1]["complete"] for dataflow in DATAFLOWS)]
                  for words in LARGER])


def pipelined_products(report, arrays):
    side, counts = (64, (1, 3)) if arrays.reduced else (256, PIPELINED)
    report.say("## Systolic arrays: TPU against moving weights (Fig. 7)")
    report.say()
    report.say(f"Pipelined products that fill an array of {side} × {side}: stepped cycles until all are complete.")
    report.say()
    product = f"{side}x{side}x{side}"
    cycles = {dataflow: [arrays.rows(f"{side}x{side}", dataflow, ",".join([product] * count))[-1]["complete"]
                         for count in counts] for dataflow in DATAFLOWS[:2]}
    tpu, moving = cycles.values()
    report.bound(all(a < b for a, b in zip(tpu, moving)), "the TPU's array takes fewer cycles than moving weights")
    report.table(["products", *cycles, "ratio"],
                 [[count, a, b, f"{b / a:.2f}"] for count, a, b in zip(counts, tpu, moving)])
    if not arrays.reduced:
        line_chart(PICTURE, f"Pipelined products on {side} × {side} MACs", "products", "cycles",
                   [(name, list(zip(counts, values))) for name, values in cycles.items()])
        report.say(f"![Cycles over pipelined products: tpu below, non-stationary above]({PICTURE.name})")
        report.say()


def in_a_machine(report, runner, reduced):
    report.say("## Systolic arrays: tiles of a machine")
    report.say()
    report.say("`tests/parallel/torus_systolic.yaml`, a transformer on 16 tiles with arrays of 16 × 12.")
    report.say()
    runs = [(model, ranks, runner.run(str(MACHINE), ranks, (f"--set=machine.compute.model={model}",)))
            for model in ("systolic", "systolic-cycle") for ranks in ((1, 2) if reduced else (1, 2, 3, 4))]
    digests = {summary["result_digest"] for _, _, summary in runs}
    report.bound(len(digests) == 1, "one digest for systolic and systolic-cycle on all ranks")
    report.table(["compute", "ranks", "simulated [ms]", "digest"],
                 [[model, ranks, f"{summary['simulated_time_ps'] / 1e9:.3f}", summary["result_digest"]]
                  for model, ranks, summary in runs])


def speed(report, bench, reduced):
    report.say("## Systolic arrays: speed")
    report.say()
    report.say("256 × 256 MACs stepped with data, for a product of 1024 × 512 × 512. All MACs count in all cycles, "
               "also idle ones. Sinha and Lam's code makes 0.8 million steps per CPU second.")
    report.say()
    rows = []
    for dataflow in DATAFLOWS:
        row = [dataflow]
        for kind in ("int8", "fp32"):
            run = bench.run(f"systolic --dataflow {dataflow} --type {kind}", repeat=1 if reduced else 5)
            row.append(report.at_least(run["mac_steps_per_cpu_s"] / 1e6, SPEED / 1e6,
                                       f"{dataflow}, {kind}: million MAC steps a CPU second", "{:.0f}"))
        rows.append(row)
    report.table(["dataflow", "int8 [10⁶ MAC steps / CPU s]", "fp32"], rows)


def sections(report, program, folder, setting):
    arrays = Arrays(program, setting.reduced)
    seed_cycles(report, arrays)
    scale_sim_cycles(report, arrays)
    larger_products(report, arrays)
    pipelined_products(report, arrays)
    in_a_machine(report, Runner(program, folder), setting.reduced)
    binary = Path(program).parent / "tessera-bench"
    if setting.counts_only:
        return
    if not binary.exists():
        report.not_run("speed of systolic arrays, for `tessera-bench` is not built beside the program")
    else:
        speed(report, Bench(str(binary)), setting.reduced)
