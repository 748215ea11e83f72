"""The workload as printed, corrected, and with what is remote following from capacity; and what a load's
way there costs."""

from page import Runner
from remote_memory.experiments import batches, experiment, hcsim_llama2, settings, workload

XPUS = 64
# Table, preset, data type, whether what is remote follows from the XPUs' memory, and bytes of a gradient
# where they are added up: 16-bit ones fit Table 4's bytes, the paper's text says FP32.
ROWS = (("printed", "13b", "fp32", False), ("printed", "13b", "fp32", False, 4), ("corrected", "13b", "fp32", False),
        ("corrected", "13b", "fp16", False), ("corrected", "13b", "fp16", True),
        ("llama", "7b", "fp16", True), ("llama", "70b", "fp16", True))
# Of the CXL links, and XPUs.
LATENCIES = ("200ns", "10us", "100us", "1ms")
SIZES = (64, 256)


def seconds(runner, folder, coherent, table, preset, data_type, tensors, gradient=2):
    more = {"shape": hcsim_llama2.PRESETS[preset]} if table == "llama" else {}
    written = workload(folder, "coherent" if coherent else "move", table=table,
                       label=f"{preset}-{gradient}", tensors=tensors, gradient=gradient, **more)
    path = experiment(folder, coherent, written)
    words = settings(coherent, "H100", XPUS, more=(f"execution.data_type={data_type}",))
    return runner.run(str(path), 1, tuple(words))["simulated_time_ps"] / 1e12


def sections(report, program, folder, setting):
    if setting.reduced:
        return
    runner = Runner(program, folder)
    report.say("## The workload: printed and corrected")
    report.say()
    report.say(f"Seconds per iteration on {XPUS} H100s (51.2 TFLOP/s of FP32, 989.4 of FP16), with a batch of one on "
               "each. `remote`: all that layers access, as in the paper, or the part of weights, gradients, "
               "activations and Adam's states that does not fit in 80 GB (`--tensors`, which also adds an update "
               "after each decoder's gradients).")
    report.say()
    rows = []
    for row in ROWS:
        both = [seconds(runner, folder, coherent, *row) for coherent in (False, True)]
        table, preset, data_type, tensors, *gradient = row
        gradient = gradient[0] if gradient else 2
        rows.append([f"{table} {preset}", data_type, 8 * gradient, "by capacity" if tensors else "all",
                     f"{both[0]:.3f}", f"{both[1]:.3f}", f"{both[0] / both[1]:.3f}"])
        report.bound(both[1] < both[0], f"{table} {preset}, {data_type}: coherent is faster")
    report.table(["table", "arithmetic", "bits of a gradient", "remote", "without coherence [s]", "with [s]", "ratio"], rows)
    requests(report, runner, folder)


def requests(report, runner, folder):
    report.say("## Latency of a load: there and back, or back only")
    report.say()
    report.say("Batches per second of H100s with coherent access and the printed table, by the latency of the CXL "
               "links. On this page loads send requests for their data (`sent`), so that the path is paid in both "
               "directions. The paper's equation (2) has one latency. `execution.remote.request: free` counts only "
               "that one, but then loads share no links, whereas in the paper they do. Therefore no other figure "
               "here uses it.")
    report.say()
    rows = []
    for xpus in SIZES:
        for request in ("sent", "free"):
            found = [batches(runner, folder, True, "H100", xpus, latency=latency,
                             more=(f"execution.remote.request={request}",)) for latency in LATENCIES]
            rows.append([xpus, request, *(f"{value:.2f}" for value in found),
                         f"{100 * (1 - found[-1] / found[0]):.1f} %"])
    report.table(["XPUs", "request", *LATENCIES, f"lost at {LATENCIES[-1]}"], rows)
