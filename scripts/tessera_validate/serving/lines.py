"""Ten million lines of a file of requests, read as a stream into a table and served."""

import os
import subprocess
import time

from page import ROOT, summary_of

LINES, REDUCED = 10_000_000, 20_000
PROMPT, GENERATE = 16, 1
GAP_US = 20  # between arrivals
SECONDS = 180
GROWTH_MB = 20
TEXT_BYTES = 4 << 20  # that are written at a time


def write_requests(path, lines):
    """Columns of `tessera`, a request each so many microseconds."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("at [s],prompt,generate\n")
        text = []
        for line in range(lines):
            text.append(f"{line * GAP_US / 1e6:.6f},{PROMPT + line % 16},{GENERATE}\n")
            if len(text) * 20 > TEXT_BYTES:
                file.write("".join(text))
                text.clear()
        file.write("".join(text))


def write_experiment(folder, requests, lines):
    path = folder / f"lines_{lines}.yaml"
    path.write_text(
        f"name: lines\nmachine: {ROOT / 'configs' / 'machines' / 'h100_servers.yaml'}\nworkload:\n  kind: serving\n"
        "  steps: whole\n  tenants:\n    - name: small\n      npus: [0]\n"
        "      language_model: {layers: 2, hidden: 256, heads: 4, sequence: 64, vocabulary: 1000}\n"
        f"      requests: {{arrivals: trace, file: {requests}, count: {lines}}}\n      batching: {{chunk: 2048}}\n",
        encoding="utf-8")
    return path


def timed(command):
    """(processor seconds, most bytes of memory, wall seconds) of a process by itself."""
    began = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"error: {' '.join(map(str, command))}: exit code {process.returncode}")
    return used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss, time.monotonic() - began


def sections(report, program, folder, setting):
    lines = REDUCED if setting.reduced else LINES
    report.say("## Serving: ten million lines")
    report.say()
    report.say(f"A file of requests (`at [s],prompt,generate`), one every {GAP_US} us, with prompts of {PROMPT} to "
               f"{PROMPT + 15} tokens and {GENERATE} generated, for a small model on one H100, with whole steps and "
               "no trace. `check` reads the file and simulates nothing. Peak memory is that of the process, on one "
               "rank. The text is read as a stream, and 16 bytes of each line are kept: for more than half a million "
               "lines in an unnamed file, with windows of it in memory.")
    report.say()
    rows, whole, most = [], 0, {}
    for count in (lines // 10, lines):
        requests = folder / f"requests_{count}.csv"
        write_requests(requests, count)
        path, output = write_experiment(folder, requests, count), folder / f"run_{count}"
        for what, command in (("check", (program, "check", path)),
                              ("run", (program, "run", path, "-o", output, "-q", "-q", "--trace", "none"))):
            processor, memory, _ = timed(command)
            served = summary_of(output)["services"][0]["served"] if what == "run" else ""
            whole = processor if what == "run" else whole
            most[what, count] = memory / 1e6
            rows.append((what, count, f"{requests.stat().st_size / 1e6:.0f}", served, f"{processor:.1f}",
                         f"{1e6 * processor / count:.2f}", f"{memory / 1e6:.0f}"))
            if what == "run":
                report.bound(served == count, f"{count} lines: all are served")
        requests.unlink()
    report.table(("", "lines", "file [MB]", "served", "processor [s]", "µs a line", "peak memory [MB]"), rows)
    if not setting.reduced and not setting.counts_only:
        growth = max(most[what, lines] - most[what, lines // 10] for what in ("check", "run"))
        report.say("Additional memory for all lines, compared with a tenth of them [MB]: "
                   + report.at_most(growth, GROWTH_MB, "memory of ten million lines beyond that of one [MB]", "{:+.0f}") + ".")
        report.say()
        report.say("Processor seconds of the run with all lines: "
                   + report.at_most(whole, SECONDS, "processor seconds of ten million lines") + ".")
        report.say()
