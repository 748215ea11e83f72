"""DeepSeek-V3 that generates on 64 GPUs, its experts spread over them."""

from page import EXPERIMENTS, Runner

EXPERIMENT = EXPERIMENTS / "serving_deepseek_v3.yaml"
TENANT = "workload.tenants.0"
GPUS, SERVER = 64, 8
# SGLang on twelve servers of eight H100, some of which compute prompts, inputs of 2000 tokens, halves of a batch beside
# each other: lmsys.org/blog/2025-05-05-large-scale-ep. DeepSeek's own on H800: its overview of the inference system,
# 2025. How many sequences a GPU had is not known here.
PUBLISHED, OWN = 22_300, 14_800  # tokens/s a server
EACH, REDUCED = (16, 64, 256), (16,)  # sequences on a GPU
PORTS = ("--set", "machine.network.ports=shared")
NETWORKS = (("ports shared", PORTS),
            ("messages share nothing", ("--set", "machine.network.ports=free")),
            ("ports shared, nothing to launch", (*PORTS, "--set", "machine.compute.launch_overhead=0 ns")))


def settings(sequences):
    return ("--set", f"{TENANT}.batching.sequences={sequences}", "--set", f"{TENANT}.requests.clients={sequences}",
            "--set", f"{TENANT}.requests.count={sequences}")


def sections(report, program, folder, setting):
    runner = Runner(program, folder)
    report.say("## Serving: experts over 64 GPUs")
    report.say()
    report.say(f"`configs/experiments/{EXPERIMENT.name}`: DeepSeek-V3 on eight servers of eight H100s, with four of "
               "256 experts on each GPU, data-parallel attention over 2000 or more tokens of each sequence, products "
               "with weights in fp8 and all else in bf16. Each layer has two all-to-alls over the network. Their "
               "messages either leave a GPU one after the other or share nothing.")
    report.say()
    rows, rates = [], {}
    for name, network in NETWORKS[:1] if setting.reduced else NETWORKS:
        for each in REDUCED if setting.reduced else EACH:
            summary = runner.run(str(EXPERIMENT), 1, (*settings(each * GPUS), *network))
            a_token = summary["services"][0]["between_tokens_ps"]["p50"]
            rates[name, each] = each * SERVER * 1e12 / a_token
            rows.append((name, each, f"{1e-9 * a_token:.1f}", f"{rates[name, each]:.0f}",
                         f"{rates[name, each] / PUBLISHED:.2f}"))
    report.table(("network", "sequences on a GPU", "between tokens [ms]", "tokens/s a server", f"to {PUBLISHED}"), rows)
    if setting.reduced:
        return
    best, most = (rates[name, EACH[-1]] for name, _ in NETWORKS[:2])
    held = report.bound(best < most and rates[NETWORKS[0][0], EACH[0]] < best,
                        f"experts: {best:.0f} tokens/s a server with ports shared, {most:.0f} without")
    report.say(f"Published are {PUBLISHED} tokens per second for each server that generates (SGLang on twelve servers "
               f"of eight H100s, inputs of 2000 tokens) and {OWN} (DeepSeek on H800, in production), with batch sizes "
               f"that are not known here. With {EACH[-1]} sequences on a GPU, ours is {best / PUBLISHED:.2f} times "
               f"the first where messages share the GPU's port, and {most / PUBLISHED:.2f} times where they share "
               f"nothing ({held}: larger batches raise the rate, and shared ports lower it). The published systems "
               "differ: two halves of a batch overlap exchanges with computation, so that a step takes as long as the "
               "longer of the two, not their sum; tokens are sent in fp8, in half of our bytes; experts are not "
               "evenly loaded. No constant is fitted to the published figures, and there is no bound on them.")
    report.say()
