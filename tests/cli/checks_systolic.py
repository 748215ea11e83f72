"""Systolic arrays: single products, and in a machine."""
from program import HERE, check, expect, expect_refusal

EXPERIMENT = HERE.parent / "parallel" / "torus_systolic.yaml"


def rows(program, *words):
    """Cells of each row, by the head."""
    done = program.call("systolic", *words)
    expect(done.returncode == 0, done.stderr_text)
    lines = [line.replace(" %", "%") for line in done.stdout_text.splitlines()]
    head = lines[0].replace("complete at", "complete").replace("off by", "off").split()
    return [dict(zip(head, line.split())) for line in lines[1:] if not line.startswith("stepped")]


@check
def systolic_prints_cycles(program):
    shown = rows(program, "--array", "4x4", "4x4x4,2x2x2,4x4x4,16x4x4", "--step")
    expect([row["complete"] for row in shown] == ["10", "10", "18", "46"], shown)
    expect([row["cycles"] for row in shown] == ["10", "0", "8", "28"], shown)
    expect([row["off"] for row in shown] == ["0", "0", "-2", "-12"], shown)
    expect(shown[0]["utilisation"] == "40.00%" and shown[1]["mapped"] == "25.00%", shown)
    folded = rows(program, "--array", "8x8", "--dataflow", "ws", "16x16x16", "--step", "--type",
                  "fp32")
    expect(folded[0]["cycles"] == "152" and "paper" not in folded[0], folded)


@check
def systolic_folds_the_depth(program):
    """Two MACs a processing element: half the folds of a product that the array holds twice."""
    shown = rows(program, "--array", "8x8", "--dataflow", "ws", "16x16x16", "--macs-per-pe", "2",
                 "--step", "--type", "int8")
    expect(shown[0]["cycles"] == "76" and shown[0]["utilisation"] == "42.11%", shown)
    expect(shown[0]["mapped"] == "100.00%", shown)


@check
def systolic_convolves(program):
    shown = program.call("systolic", "--array", "8x8", "--dataflow", "os", "--kernel", "3x3x32",
                         "--padding", "1", "--groups", "32", "14x14x32", "--step")
    expect(shown.returncode == 0 and "32 of 196x9x1" in shown.stdout_text, shown.stdout_text)
    expect("the same cycles, products right" in shown.stdout_text, shown.stdout_text)


@check
def systolic_refuses(program):
    for words, complaint in ((["4x4"], "'4x4' is not three sides"),
                             (["4x4x4x"], "'4x4x4x' is not three sides"),
                             (["4x0x4"], "'4x0x4' is not three sides"),
                             (["4x4x4,"], None),
                             ([""], "the name of a list of products is empty"),
                             (["4x4x4", "--array", "4"], "'4' is not an array"),
                             (["4x4x4", "--dataflow", "wz"], "unknown dataflow 'wz'"),
                             (["4x4x4", "--type", "fp16"], "--type: expected int8 or fp32"),
                             (["4x4x4", "--macs-per-pe", "0"], "--macs-per-pe: must be"),
                             (["4x4x4", "--kernel", "5x5x4"], "--kernel must fit"),
                             (["4x4x4", "--kernel", "3x3x4", "--groups", "3"], "--groups divide"),
                             (["4x4x4", "--kernel", "3x3x4", "--stride", "0"], "--stride: must be")):
        done = program.call("systolic", *words)
        if complaint is None:
            expect(done.returncode == 0, done.stderr_text)
        else:
            expect_refusal(done, 2, complaint)


@check
def systolic_runs_as_stepped(program):
    """The whole run, with cycles in closed form and stepped."""
    digests = set()
    for model in ("systolic", "systolic-cycle"):
        done = program.call("run", EXPERIMENT, "-o", program.folder, "-q", "--set",
                            "machine.compute.model=" + model)
        expect(done.returncode == 0, done.stderr_text)
        digests.add(program.summary()["result_digest"])
    expect(len(digests) == 1, digests)
