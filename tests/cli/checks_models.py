"""What `tessera import` says of ONNX models."""
import json
import re

from program import HERE, check, expect, expect_refusal

MODELS = HERE.parent / "onnx" / "models"
VOICE = MODELS / "silero_vad_v5.onnx"
SIDES = ["--dim", "input.0=1", "--dim", "input.1=512", "--dim", "state.1=1"]


def total(text, name):
    found = re.search(r"^ *%s +(\d+)" % re.escape(name), text, re.MULTILINE)
    expect(found, "no '%s' in: %s" % (name, text))
    return int(found.group(1))


@check
def import_prints_tables_and_totals(program):
    done = program.call("import", VOICE, *SIDES, "--value", "sr=16000", "--optimize", "all")
    expect(done.returncode == 0, done.stderr_text)
    expect("LSTM" in done.stdout_text and "1x512x128" in done.stdout_text, done.stdout_text)
    expect(total(done.stdout_text, "matrix") == 1127936, done.stdout_text)
    expect(total(done.stdout_text, "in the file") == 545286, done.stdout_text)
    expect("notice: " in done.stdout_text, "nothing is said of the missing weights")
    for level in ("none", "basic", "extended", "all"):
        expect(re.search(r"^%s +\d" % level, done.stdout_text, re.MULTILINE), "no row of " + level)


@check
def import_takes_choices_from_yaml(program):
    file = program.scratch / "voice.yaml"
    file.write_text("model: %s\ndimensions: {input.0: 1, input.1: 256, state.1: 1}\n"
                    "values: {sr: 16000}\noptimize: basic\n" % VOICE, encoding="utf-8")
    done = program.call("import", file, "--value", "sr=8000", "--summary")
    expect(done.returncode == 0, done.stderr_text)
    expect(total(done.stdout_text, "matrix") == 684032, done.stdout_text)
    file.write_text("model: %s\noptimise: basic\n" % VOICE, encoding="utf-8")
    expect_refusal(program.call("import", file), 2, "voice.yaml:2:1: error: optimise: unknown key")


@check
def import_refuses_a_cut_file_with_node_and_byte(program):
    cut = program.scratch / "cut.onnx"
    cut.write_bytes(VOICE.read_bytes()[:100_000])
    expect_refusal(program.call("import", cut), 2,
                   r"cut.onnx: error: node \d+ .*at byte \d+: .*at byte \d+")
    expect_refusal(program.call("import", program.scratch / "none.onnx"), 2, "cannot be read")
    expect_refusal(program.call("import", VOICE, *SIDES), 2, "choose a branch with --branch")
    expect_refusal(program.call("import", VOICE, "--dim", "x"), 2, "--dim: expected NAME=VALUE")


@check
def what_a_file_left_out_is_said_of_a_run(program):
    """Of NPU cores, where operators that are not understood cost traffic alone."""
    odd = program.scratch / "odd.onnx"
    odd.write_bytes((MODELS / "pp_ocr_v2_cls.onnx").read_bytes().replace(b"Softmax", b"Softmux"))
    words = ["check", HERE.parent.parent / "configs" / "experiments" / "onnx_ocr.yaml", "--json",
             "--set", "workload.model=%s" % odd]
    expect_refusal(program.call(*words), 2, "Softmux is not known")
    done = program.call(*words, "--set", "workload.unknown=traffic")
    expect(done.returncode == 0, done.stderr_text)
    notes = json.loads(done.stdout_text)["notes"]
    expect(any("odd.onnx: not understood: Softmux" in note for note in notes), notes)


@check
def what_a_chip_keeps_must_fit_its_memory(program):
    """Operands of operators, and weights of models, also of one tenant."""
    chip = program.scratch / "chip.yaml"
    chip.write_text("""
machine:
  topology: {kind: mesh, rows: 1, columns: 1, bandwidth: 100 GB/s, latency: 10 ns}
  tile: {peak: {fp16: 512 GFLOP/s}}
  dram: {at: each, bandwidth: 100 GB/s, latency: 10 ns, capacity: 400 kB}
  compute: {model: npu, array: [16, 16], scratchpad: 256 KiB, accumulator: 64 KiB}
workload: {kind: operators, operators: [{kind: gemm, rows: 256, columns: 256, depth: 256}]}
""", encoding="utf-8")
    done = program.call("run", chip, "-o", program.folder, "-q", "-q")
    expect(done.returncode == 0, done.stderr_text)
    small = ["--set", "machine.dram.capacity=300 kB"]
    expect_refusal(program.call("check", chip, *small), 2, "would hold 393 kB, 93.2 kB more than its 300 kB")
    tenants = ["--set", "workload={kind: tenants, tenants: [{name: a, tiles: all, workload: {kind: operators, operators: "
               "[{kind: gemm, rows: 256, columns: 256, depth: 256}]}}]}"]
    expect_refusal(program.call("check", chip, *tenants, *small), 2, "more than its 300 kB")
    expect(program.call("check", chip, *tenants).returncode == 0, "what fits is refused")
