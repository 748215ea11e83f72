"""Fluid flows against SimGrid's completion times: the tests that hold them, with what they found."""

import json
from pathlib import Path

from page import call

TESTS = "network_tests"
BOUND = 1e-9


def sections(report, program, folder, setting):
    report.say("## Flows against SimGrid")
    report.say()
    report.say("38 scenarios of 1266 flows, plain max-min and SimGrid's CM02 with its full solver (the lazy "
               "one, its default, is off by up to 68 % in some). The solver runs all; the whole network those "
               "that a machine file can say. Largest relative difference of an end, times stretched by 1000 so "
               "that a picosecond counts for nothing:")
    report.say()
    binary = Path(program).parent / "tests" / TESTS
    if not binary.exists():
        report.not_run(f"`{TESTS}` is not built beside the program")
        return
    out = folder / "flows.json"
    call([str(binary), "--gtest_filter=SimgridFlows.*", f"--gtest_output=json:{out}"])
    rows = []
    for suite in json.loads(out.read_text(encoding="utf-8"))["testsuites"]:
        for test in suite["testsuite"]:
            worst = float(test["worst"])
            report.bound(worst <= BOUND, f"{test['name']}: {worst:.1e}, at most {BOUND:g}")
            rows.append([test["name"], test["flows"], f"{worst:.1e}"])
    report.table(["test", "flows", "largest difference"], rows)
