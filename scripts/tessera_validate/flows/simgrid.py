"""Fluid flows against SimGrid's completion times: the tests that hold them, with what they found."""

import json
from pathlib import Path

from page import call, rows_of

TESTS = "network_tests"
BOUND = 1e-9


def sections(report, program, folder, setting):
    report.say("## Flows against SimGrid")
    report.say()
    flows = rows_of("simgrid_flows.csv")
    scenarios = {flow["scenario"] for flow in flows}
    report.say(f"{len(scenarios)} scenarios of {len(flows)} flows, with plain max-min sharing and with SimGrid's CM02 "
               "and its full solver (the lazy one, its default, is off by up to 68 % in some). Our flow solver runs "
               "all scenarios, the whole network those that a machine file can express. Largest relative difference "
               "of a completion time, with times stretched by 1000 so that a picosecond is negligible:")
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
