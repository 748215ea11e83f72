"""Models whose layers have windows and states, beside the same with attention over all tokens."""

from page import EXPERIMENTS, ROOT, Runner

GEMMA = EXPERIMENTS / "serving_gemma3.yaml"
NEMOTRON = EXPERIMENTS / "serving_nemotron_h.yaml"
TENANT = "workload.tenants.0"
MODEL = f"{TENANT}.language_model"
CONTEXTS, REDUCED = (1000, 4000, 16000, 32000), (4000, 16000)
BEYOND = 4000  # tokens, of these, that windows have long left behind
CLIENTS = 16
# Of Gemma 3 27B, layers, those without a window, and bytes of a token in a layer on one of two GPUs.
LAYERS, FULL, OF_TOKEN = 62, 10, 2 * 2 * 8 * 128
BANDWIDTH, BLOCK = 0.843 * 3350e9, 16  # as of configs/machines/h100_server.yaml
# Published weights: 24 layers of Mamba-2, 4 of attention; state in fp32, tokens of the convolution in bf16.
STATE = 24 * (4 * 128 * 64 * 128 + 2 * 3 * (128 * 64 + 2 * 8 * 128))


def at_context(tokens, clients):
    return ("--set", f"{TENANT}.requests={{arrivals: closed, clients: {clients}, count: {clients}, prompt: 16, "
            f"generate: 64, prefix: {{tokens: {tokens}}}}}")


def alone(tokens):
    return ("--set", f"{TENANT}.requests={{arrivals: closed, count: 1, prompt: {tokens}, generate: 5}}")


def changed(folder, name, *changes):
    """A model of workloads/ with lines of these keys in place of its own ('': none)."""
    lines = (ROOT / "workloads" / name).read_text(encoding="utf-8").splitlines()
    for key, line in changes:
        lines = [line if one.startswith(f"{key}:") else one for one in lines]
    path = folder / f"changed_{name}"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ("--set", f"{MODEL}={path}")


def service(runner, experiment, words):
    return runner.run(str(experiment), 1, words)["services"][0]


def windows(report, runner, folder, contexts):
    rows, times, blocks = [], {}, {}
    everywhere = changed(folder, "gemma3_27b.yaml", ("pattern", ""), ("window", ""))
    for name, words in (("windows", ()), ("all layers see all", everywhere)):
        for tokens in contexts:
            times[name, tokens] = service(runner, GEMMA, (*at_context(tokens, CLIENTS), *words))["between_tokens_ps"]["p50"]
            taken = service(runner, GEMMA, (*alone(tokens), *words))["cache_blocks"]
            # A block is one of a layer where these are of several kinds.
            blocks[name, tokens] = taken * BLOCK * OF_TOKEN * (1 if name == "windows" else LAYERS)
            rows.append((f"{name}, {tokens}", f"{1e-9 * times[name, tokens]:.2f}", f"{1e-6 * blocks[name, tokens]:.0f}"))
    report.table(("Gemma 3 27B, two H100: layers, tokens before", f"between tokens, {CLIENTS} at a time [ms]",
                  "most cache of one on a GPU [MB]"), rows)
    last, first = contexts[-1], BEYOND
    for name, layers in (("windows", FULL), ("all layers see all", LAYERS)):
        grown = 1e-12 * (times[name, last] - times[name, first])
        read = CLIENTS * layers * (last - first) * OF_TOKEN / BANDWIDTH
        held = report.bound(abs(grown / read - 1) < 0.02, f"{name}: {1e3 * grown:.3f} ms more, reading {1e3 * read:.3f} ms")
        report.say(f"From a context of {first} to one of {last} tokens ({name}), the time of a token grows by "
                   f"{1e3 * grown:.2f} ms; reading the additional cache of {layers} layers takes {1e3 * read:.2f} ms "
                   f"(within 2 %: {held}).")
    report.say()


def states(report, runner, folder, contexts):
    rows, times = [], {}
    longer = changed(folder, "nemotron_h_8b.yaml", ("sequence", "sequence: 33000"))
    for tokens in contexts:
        one = service(runner, NEMOTRON, (*at_context(tokens, CLIENTS), *longer))
        times[tokens] = one["between_tokens_ps"]["p50"]
        rows.append((tokens, f"{1e-9 * times[tokens]:.3f}"))
    report.table(("Nemotron-H 8B, one H100: tokens before", f"between tokens, {CLIENTS} at a time [ms]"), rows)
    of_token = 4 * 2 * 2 * 8 * 128
    last, first = contexts[-1], contexts[0]
    grown = 1e-12 * (times[last] - times[first])
    read = CLIENTS * (last - first) * of_token / BANDWIDTH
    held = report.bound(abs(grown / read - 1) < 0.02, f"states: {1e3 * grown:.3f} ms more, reading {1e3 * read:.3f} ms")
    report.say(f"A sequence keeps {1e-6 * STATE:.1f} MB of states, which are read and written for each token, whatever the "
               "context length. Only the time to read the cache of the four attention layers grows "
               f"({1e3 * grown:.3f} ms; {1e3 * read:.3f} ms by its bytes, within 2 %: {held}).")
    report.say()


def sections(report, program, folder, setting):
    runner = Runner(program, folder)
    contexts = REDUCED if setting.reduced else CONTEXTS
    report.say("## Serving: windows and states")
    report.say()
    report.say(f"`configs/experiments/{GEMMA.name}` and `{NEMOTRON.name}` with {CLIENTS} sequences that all begin "
               "with the stated number of tokens; Gemma 3 also with attention over all tokens in each layer. Nothing "
               "is fitted.")
    report.say()
    windows(report, runner, folder, contexts)
    states(report, runner, folder, contexts)
