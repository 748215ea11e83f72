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
    report.say(f"`configs/experiments/{EXPERIMENT.name}`: DeepSeek-V3 on eight servers of eight H100, four of 256 experts on "
               "each, data-parallel attention over 2000 tokens and more of each sequence, products with weights "
               "in fp8, all else in bf16. Two all-to-alls a layer go over the network, whose messages leave a GPU one after the other "
               "or share nothing.")
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
    report.say(f"Published are {PUBLISHED} tokens a second a server that generates (SGLang on twelve servers of eight H100, "
               f"inputs of 2000 tokens) and {OWN} (DeepSeek on H800, in service), with batches that are not known here. Ours is "
               f"{best / PUBLISHED:.2f} of the first with {EACH[-1]} sequences on a GPU where messages share its port, and "
               f"{most / PUBLISHED:.2f} where they share nothing ({held}: larger batches pay, and ports cost). What differs: "
               "their halves of a batch hide exchanges behind computing, which makes a step as long as the longer of both "
               "and not as their sum; tokens go out in fp8, half of ours; experts are not evenly busy. No constant is taken "
               "from here, and no bound on the published figure.")
    report.say()
