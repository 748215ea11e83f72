"""Messages and ring all-reduces on idle machines beside closed forms, to the picosecond."""

import subprocess
from pathlib import Path


def sections(report, program, _, __):
    binary = Path(program).resolve().parent / "tests" / "closed_forms"
    done = subprocess.run([binary], capture_output=True, text=True, check=False)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    report.say("## Closed forms, to the picosecond")
    report.say()
    report.say("Command: `build/release/tests/closed_forms`. References: hops · latency + size / "
               "bandwidth (PALM, equation (2) on idle links); k messages into one link: latencies + "
               "k · size / bandwidth; ring all-reduce on an idle ring: 2 (N − 1) (latency + chunk / "
               "bandwidth), Patarasuk and Yuan, JPDC 2009.")
    report.say()
    report.table(["what", "case", "ours [ps]", "closed form [ps]", "difference [ps]"],
                 [[*row, int(row[2]) - int(row[3])] for row in rows])
    equal = done.returncode == 0 and len(rows) > 0 and all(row[2] == row[3] for row in rows)
    report.bound(equal, f"{len(rows)} closed forms equal to the picosecond")
