"""Constants of a machine file from measured times."""
import json

from program import HERE, check, expect, expect_refusal, fits

CONFIGS = HERE.parent.parent / "configs"
# Llama-2-7B's products on A100, 512 to 4096 tokens: tests/validation/reference/operators_a100.csv (Vidur).
PRODUCTS = """operator,shape,time
product,512x4096x12288,234 us
product,512x4096x4096,88 us
product,512x11008x4096,229 us
product,1x4096x12288,65 us
product,1x4096x4096,25 us
product,2048x4096x12288,979.5 us
product,4096x4096x4096,603 us
product,4096x11008x4096,1585 us
"""


def write(program, name, text):
    path = program.scratch / name
    path.write_text(text, encoding="utf-8")
    return path


def calibrate(program, data, keys, *more, machine=CONFIGS / "machines" / "a100_server.yaml", **options):
    words = [word for key in keys for word in ("--fit", key)]
    return program.call("calibrate", machine, "--data", data, *words, *more, **options)


@check
def calibrate_meets_real_products(program):
    data = write(program, "products.csv", PRODUCTS)
    output = program.scratch / "fitted.yaml"
    keys = ["compute.matrix_efficiency", "compute.memory_efficiency", "compute.launch_overhead"]
    done = calibrate(program, data, keys, "-o", output, "--rows")
    expect(done.returncode == 0, done.stderr_text)
    expect("8 times" in done.stdout_text and "not told apart" not in done.stdout_text, done.stdout_text)
    text = output.read_text(encoding="utf-8")
    expect(text.startswith("# Calibrated by tessera ") and "8 times, mean error" in text, text[:300])
    found = json.loads(calibrate(program, data, keys, "--json").stdout_text)
    fits(found, "calibration.schema.json")
    expect(found["error_after"]["mean_absolute"] < found["error_before"]["mean_absolute"], found)
    expect(found["error_after"]["mean_absolute"] < 0.06, found["error_after"])
    # What was written is a machine file, and has nothing left to fit.
    again = json.loads(calibrate(program, data, keys, "--json", machine=output).stdout_text)
    for before, after in zip(found["constants"], again["constants"]):
        expect(before["after"] == after["before"], (before, after))
    expect(abs(again["error_after"]["mean_absolute"] - found["error_after"]["mean_absolute"]) < 0.001, again)
    # Its own output is written again, a file of others is not.
    expect(calibrate(program, data, keys, "-o", output).returncode == 0, "again")
    other = write(program, "mine.yaml", "name: mine\n")
    refused = calibrate(program, data, keys, "-o", other)
    expect(refused.returncode == 2 and other.read_text(encoding="utf-8") == "name: mine\n", refused.stderr_text)


@check
def calibrate_says_what_is_not_told_apart(program):
    rows = [line for line in PRODUCTS.splitlines() if "1x4096" not in line]
    data = write(program, "large.csv", "\n".join(rows) + "\n")
    done = calibrate(program, data, ["compute.matrix_efficiency", "tile.peak.fp16"])
    expect(done.returncode == 0, done.stderr_text)
    expect("not told apart: compute.matrix_efficiency" in done.stdout_text and "tile.peak.fp16" in done.stdout_text,
           done.stdout_text)


@check
def calibrate_refuses_with_place(program):
    data = write(program, "bad.csv", "operator,shape,time\nproduct,64x64,5 us\nproduct,64x64x64,5\n")
    done = calibrate(program, data, ["compute.matrix_efficiency"])
    expect(done.returncode == 2, done.stderr_text)
    expect("bad.csv:2:9: error: '64x64' is no product" in done.stderr_text, done.stderr_text)
    expect("bad.csv:3:18: error: '5' has no unit" in done.stderr_text, done.stderr_text)
    for head, row, complaint in (
            ("experiment,time", "none.yaml,5 us", "line.csv:2:1: error: .*none.yaml"),
            ("collective,size,ranks,time", "all-reduce,1 MB,999,5 us", "line.csv:2:1: error: ranks, as tiles from 0 on: .*")):
        line = write(program, "line.csv", "\ufeff%s\n%s\n" % (head, row))
        expect_refusal(calibrate(program, line, ["compute.matrix_efficiency"]), 2, complaint)
    expect_refusal(calibrate(program, data, ["compute.matrix_efficiency"] * 2), 2, "asked for twice")
    done = calibrate(program, data, [])
    expect(done.returncode == 2 and "--fit" in done.stderr_text, done.stderr_text)
    done = calibrate(program, program.scratch / "none.csv", ["compute.matrix_efficiency"])
    expect(done.returncode == 2 and "none.csv" in done.stderr_text, done.stderr_text)


@check
def calibrate_on_two_ranks_is_the_same(program):
    data = write(program, "products.csv", PRODUCTS)
    keys = ["compute.matrix_efficiency", "compute.launch_overhead"]
    one = calibrate(program, data, keys)
    two = calibrate(program, data, keys, ranks=2)
    expect(one.returncode == two.returncode == 0 and one.stdout_text == two.stdout_text, two.stderr_text)


@check
def calibrate_has_collectives_of_the_library(program):
    data = write(program, "collectives.csv", "collective,size,ranks,time\nall-reduce,64 MB,8,300 us\n")
    machine = CONFIGS / "machines" / "h100_server.yaml"
    before = {}
    for library in ("none", "nccl"):
        done = calibrate(program, data, ["network.collective_overhead"], "--set", f"machine.network.library={library}",
                         "--json", machine=machine)
        expect(done.returncode == 0, done.stderr_text)
        before[library] = json.loads(done.stdout_text)["rows"][0]["before_ps"]
    # 24.85 us before, and NVLS: 25 us, and 9/8 of the vector at 85 % of 355.2 GB/s.
    expect(abs(before["nccl"] - (49.85e6 + 1.125 * 64e6 / 0.85 / 355.2 * 1e3)) < 100, before)
    expect(before["none"] > 1.1 * before["nccl"], before)
