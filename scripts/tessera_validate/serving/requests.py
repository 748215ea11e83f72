"""Generation of GPT-3 Small beside ResNet-50 on one NPU (Fig. 4 of ONNXim's paper),
the policies of the scheduler in the same situation, and equal results on any number of ranks."""

from functools import lru_cache, partial

from npu.cycles import SERVER, path_of
from page import ROOT, Runner, beside

WORKLOADS = ROOT / "workloads"
CASE = ROOT / "tests" / "parallel" / "npu_serving.yaml"
BATCHES = (1, 2, 4, 8, 16, 32)
POLICIES = (("spatial", "core 0 for GPT-3, the others for ResNet-50 (the paper's)"), ("time-sharing", ""),
            ("spatial-split", ""), ("first-come", ""), ("deadline", "a target of 0.72 ms between tokens"))
# With these a token waits for layers of ResNet-50 that take milliseconds.
SLOW, SLOW_TOKENS = ("time-sharing", "first-come"), 3
TOKENS, TOKENS_OF_POLICIES, TOKENS_REDUCED = 100, 40, 2
PROMPT, PROMPT_REDUCED = 512, 16
# Whole rows of 4 KiB go as one message; the requests of a row are 32 bytes to the DRAM as ever.
SETTINGS = ("--set", "machine.memory.transfer=4 KiB")


@lru_cache
def resnet_in(folder):
    """Written once, as runs beside each other read it."""
    return path_of("resnet50", folder)


def experiment(folder, tokens, batch, policy, prompt=PROMPT):
    """GPT-3 Small gives tokens one after the other; ResNet-50 is asked again and again meanwhile."""
    resnet = "" if batch is None else (
        f"    - name: resnet\n      onnx: {{model: {resnet_in(folder)}, batch: batch, optimize: all, "
        f"data_type: fp16}}\n      requests: {{arrivals: closed, samples: {batch}}}\n      background: true\n"
        "      cores: 1-3\n")
    path = folder / f"fig4_{policy}_{batch}.yaml"
    path.write_text(
        f"name: fig4\nmachine: {SERVER}\nworkload:\n  kind: serving\n  scheduler: {{policy: {policy}}}\n  tenants:\n"
        f"    - name: gpt\n      language_model: {WORKLOADS / 'gpt3_small.yaml'}\n"
        f"      requests: {{arrivals: closed, count: 1, prompt: {prompt}, generate: {tokens + 1}}}\n      cores: 0\n"
        "      target: {between_tokens: 0.72 ms}\n" + resnet, encoding="utf-8")
    return path


def serve(runner, folder, tokens, batch, policy="spatial", prompt=PROMPT):
    return runner.run(experiment(folder, tokens, batch, policy, prompt), 1, SETTINGS)


def service_of(summary, tenant):
    return next(one for one in summary["services"] if one["tenant"] == tenant)


def between(summary, part="p95"):
    return service_of(summary, "gpt")["between_tokens_ps"][part]


def samples_a_second(summary):
    return service_of(summary, "resnet")["samples"] / (summary["simulated_time_ps"] * 1e-12)


def contention(report, runner, folder, tokens, batches, prompt=PROMPT):
    report.say("## Serving: GPT-3 Small beside ResNet-50")
    report.say()
    report.say(f"GPT-3 Small generates {tokens} tokens after a prompt of {prompt} tokens on core 0 of the Server NPU, "
               "while ResNet-50 runs one batch after the other on cores 1 to 3 (Fig. 4 of ONNXim's paper, there with "
               "500 tokens). DRAM is simulated request by request, with messages of up to 4 KiB.")
    report.say()
    resnet_in(folder)
    alone, *with_batches = beside([partial(serve, runner, folder, tokens, batch, prompt=prompt) for batch in (None, *batches)])
    first = with_batches[0]
    rows = [("alone", *(f"{between(alone, part) / 1e9:.3f}" for part in ("p50", "p95", "p99")), "", "", "")]
    for batch, found in zip(batches, with_batches):
        rows.append((batch, *(f"{between(found, part) / 1e9:.3f}" for part in ("p50", "p95", "p99")),
                     f"{100 * (between(found) / between(alone) - 1):+.0f} %",
                     f"{100 * (between(found) / between(first) - 1):+.0f} %", f"{samples_a_second(found):.0f}"))
    report.table(("ResNet-50 batch", "between tokens, median [ms]", "95 % [ms]", "99 % [ms]", "95 % to alone",
                  "95 % to the first batch", "ResNet-50 samples/s"), rows)
    report.say("In the paper, the 95 % time rises by 58 % from batches of 1 to batches of 32.")
    report.say()


def tokens_of(policy):
    """`spatial` is a row of the table before."""
    if policy in SLOW:
        return SLOW_TOKENS
    return TOKENS if policy == "spatial" else TOKENS_OF_POLICIES


def policies(report, runner, folder, batch):
    report.say("## Serving: policies of the scheduler")
    report.say()
    report.say(f"The same with batches of {batch} under each policy: `spatial`, the paper's policy, as above; the "
               f"others with {TOKENS_OF_POLICIES} tokens, or {SLOW_TOKENS} where a token waits for whole layers of "
               "ResNet-50 ("
               + " and ".join(f"`{one}`" for one in SLOW) + ").")
    report.say()
    rows, slow = [], {}
    all_found = beside([partial(serve, runner, folder, tokens_of(policy), batch, policy) for policy, _ in POLICIES])
    for (policy, what), found in zip(POLICIES, all_found):
        gpt, resnet = service_of(found, "gpt"), service_of(found, "resnet")
        slow[policy] = between(found)
        rows.append((f"`{policy}`", what, f"{between(found, 'p50') / 1e9:.3f}", f"{between(found) / 1e9:.3f}",
                     f"{gpt['first_token_ps']['p50'] / 1e9:.2f}", gpt["late_tokens"],
                     f"{samples_a_second(found):.0f}", f"{resnet['latency_ps']['p95'] / 1e9:.2f}"))
    report.table(("policy", "", "between tokens, median [ms]", "95 % [ms]", "first token [ms]", "late tokens",
                  "ResNet-50 samples/s", "its latency, 95 % [ms]"), rows)
    best = min(value for policy, value in slow.items() if policy != "deadline")
    holds = report.bound(slow["deadline"] < best, f"deadline, 95 %: {slow['deadline']}, the best other {best}")
    report.say(f"`deadline` has a lower 95 % time between tokens than every other policy: {holds}.")
    report.say()


def ranks(report, runner, counts):
    report.say("## Serving: any number of ranks")
    report.say()
    report.say("`tests/parallel/npu_serving.yaml`: language models over several NPUs (tensor and pipeline parallel), "
               "with chunked prompts, shared prefixes and a cache that is too small, beside a speech model.")
    report.say()
    found = [(count, runner.run(CASE, count)) for count in counts]
    same = len({summary["result_digest"] for _, summary in found}) == 1
    report.table(("ranks", "digest", "events"),
                 [(count, summary["result_digest"], summary["events"]) for count, summary in found])
    report.say(f"Digests are equal on all numbers of ranks: {report.bound(same, 'digests of npu_serving')}.")
    report.say()


def sections(report, program, folder, setting):
    runner = Runner(program, folder)
    if setting.reduced:
        contention(report, runner, folder, TOKENS_REDUCED, BATCHES[:1], PROMPT_REDUCED)
    else:
        contention(report, runner, folder, TOKENS, BATCHES)
        policies(report, runner, folder, BATCHES[-1])
    ranks(report, runner, (1, 2) if setting.reduced else (1, 2, 3, 4))
