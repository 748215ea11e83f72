"""Equal results where the cores of one chip lie on different ranks."""

from npu.cores import Chip, machine_of, onnxim_rows, operators_text
from npu.cycles import OWN, SERVER, beside_onnxim, model_text, path_of
from npu.llama import EXTRA, token_text
from npu.models import CASES
from page import Runner
from serving.requests import SETTINGS, experiment

RANKS = (1, 2, 3, 4)
# Of onnxim_cycles.csv, those of a reduced run first.
OPERATORS = (("server_simple", "matmul_1024_1024_1024"), ("server_simple", "conv3x3_128_28"),
             ("mobile_simple", "matmul_256_256_256"), ("mobile_simple", "conv3x3_128_28"))
MODELS = ("Silero VAD v5, 16 kHz", "PP-OCR classification, 48×192", "BERT-base, 128 tokens")
QUICK_LAYER = "gpt3s_g512_L1"
LLAMA = "llama3-8b-layer"
SEQUENCES, PAST = 8, 1023
POLICIES = ("spatial", "deadline")
SERVED = {"tokens": 2, "batch": 1, "prompt": 32}
# Events of each node, in the order of nodes: with `stripes` every core has a rank of its own, the last
# one with crossbar and memory.
WEIGHTS = "# tessera: events that each node sent, in order of nodes\n10000\n9999\n9998\n9997\n0\n0\n"


def apart(folder):
    """Options that put cores on different ranks."""
    path = folder / "node_events.txt"
    path.write_text(WEIGHTS, encoding="utf-8")
    return "--partition", "stripes", "--weights", str(path)


def operators(chip, chosen):
    rows = {(row["config"], row["model"]): (row, operator) for row, operator in onnxim_rows(False)}
    for key in chosen:
        row, operator = rows[key]
        yield f"{row['model']}, {row['config'].split('_')[0]}", chip.experiment(
            machine_of(row), operators_text([operator])), ()


def layers(chip, folder, reduced):
    for name, text in beside_onnxim(folder):
        if not reduced or name == QUICK_LAYER:
            yield f"{name}, as ONNXim", chip.experiment(SERVER, text), ()


def models(chip, folder, chosen):
    for name, file, dimensions, values, _ in CASES:
        if name in chosen:
            yield name, chip.experiment(SERVER, model_text(path_of(file, folder), dimensions, values, "all")), OWN


def large(chip, folder):
    yield (f"layer of Llama 3 8B, {SEQUENCES} sequences, token {PAST + 1}",
           chip.experiment(SERVER, token_text(LLAMA, folder, SEQUENCES, PAST)), EXTRA)
    for policy in POLICIES:
        yield (f"GPT-3 Small beside ResNet-50, `{policy}`", experiment(folder, policy=policy, **SERVED), SETTINGS)


def workloads(program, folder, reduced=False):
    """(name, experiment, options) of each, on any number of ranks."""
    chip = Chip(program, folder)
    return [*operators(chip, OPERATORS[:2] if reduced else OPERATORS),
            *layers(chip, folder, reduced),
            *models(chip, folder, MODELS[:1] if reduced else MODELS),
            *([] if reduced else large(chip, folder))]


def sections(report, program, folder, setting):
    report.say("## Ranks: the cores of a chip apart")
    report.say()
    report.say("The cores of the Server or Mobile NPU, partitioned over 1 to 4 ranks. On 4 ranks each core is on its "
               "own rank, the last one together with crossbar and memory. Operators, ResNet-50 and layers as in the "
               "part `cycles`, in ONNXim's mode; models and Llama with our own timing and tiling; GPT-3 Small "
               f"generates {SERVED['tokens']} tokens after a prompt of {SERVED['prompt']} beside ResNet-50 with batch "
               f"{SERVED['batch']}, as in serving.md. A digest covers all simulated results.")
    report.say()
    runner = Runner(program, folder)
    table = []
    for name, path, extra in workloads(program, folder, setting.reduced):
        runs = [runner.run(path, ranks, (*extra, *apart(folder))) for ranks in RANKS]
        same = len({(one["result_digest"], one["events"]) for one in runs}) == 1
        used = sum(count > 0 for count in runs[-1]["rank_events"])
        table.append((name, runs[0]["events"], f"`{runs[0]['result_digest']}`", used,
                      report.bound(same, f"{name}: equal digests on {RANKS[0]} to {RANKS[-1]} ranks")))
    report.table(("workload", "events", "digest", f"ranks with events, of {RANKS[-1]}", "equal on all ranks"), table)
