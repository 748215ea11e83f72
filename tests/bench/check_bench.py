#!/usr/bin/env python3
"""Runs tessera-bench on small cases and compares what the engines and the ranks make of them.

    check_bench.py TESSERA_BENCH CHECK

CHECK is a case (same results on Tessera's engine and on the reference, and on 1, 2 and 3 ranks
under every policy), 'idle' (tiles without work are as light as promised), 'options' (bad ones are refused in one line), 'sensitive' (the digest sees
another seed), 'flows' (shares of random flows) or 'simgrid' (same flows and simulated time; skipped without
SimGrid).
"""
import json
import pathlib
import re
import subprocess
import sys

SMALL = {
    "phold": [["--lps", "500", "--events", "20000"],
              ["--lps", "60", "--events", "20000", "--remote", "1", "--mean", "0 ns"]],
    "hold": [["--pending", "3000", "--events", "30000"],
             ["--pending", "10", "--events", "1000", "--mean", "100 us"]],
    "mesh": [["--side", "12", "--events", "20000", "--pattern", pattern]
             for pattern in ("uniform", "transpose", "neighbour")] +
            [["--side", "7", "--in-flight", "500", "--serialization", "3 ns", "--until", "90 ns"]],
    "ring": [["--lps", "16", "--iterations", "20"]],
    "loggops": [["--lps", "32", "--iterations", "30", "--pattern", pattern, "--size", size]
                for pattern in ("dissemination", "binomial", "recursive-doubling", "random-pairs")
                for size in ("8 B", "100 kB")] + [["--lps", "37", "--pattern", "binomial"]],
    "sparse": [["--lps", "100", "--events", "5000"]],
}
ONE_RANK = {"hold"}
BAD = [
    [], ["fold"], ["phold", "--lsp", "4"], ["phold", "--lps", "1"], ["phold", "--lps", "many"],
    ["phold", "--lookahead", "0 ns"], ["phold", "--lookahead", "5"], ["phold", "--remote", "1.5"],
    ["phold", "--engine", "best"], ["phold", "--policy", "none"], ["phold", "--repeat", "0"],
    ["phold", "--threads", "0"], ["phold", "16"], ["mesh", "--side", "70000"],
    ["mesh", "--pattern", "unifrom"], ["mesh", "--side", "4", "--threads", "5"],
    ["hold", "--threads", "2"], ["idle", "--side", "1"], ["idle", "--threads", "2"], ["ring", "--chunk", "0 B"], ["ring", "--bandwidth", "0 GB/s"],
    ["loggops", "--lps", "12", "--pattern", "recursive-doubling"],
    ["loggops", "--L", "0 ns", "--o", "0 ns"],
    ["systolic", "--side", "0"], ["systolic", "--dataflow", "tpv"], ["systolic", "--threads", "2"],
]
FIELDS = """case parameters engine ranks lps events simulated_ps cpu_s cpu_median_s wall_s
events_per_cpu_s events_per_wall_s bytes_per_lp bytes_per_pending_event model_bytes_per_lp
largest_pending peak_rss_bytes windows rounds reductions events_per_window remote_messages waiting_s
digest""".split()


def call(program, words):
    return subprocess.run([program] + words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=120, text=True, check=False)


def report(program, words):
    done = call(program, words + ["--json"])
    if done.returncode != 0:
        raise SystemExit("%s: exit %d: %s" % (" ".join(words), done.returncode, done.stderr))
    return json.loads(done.stdout)


def policies(program):
    text = call(program, ["phold", "--help"]).stdout
    names = re.search(r"between ranks:([\w\s,-]+)\(default", text).group(1)
    names = [name.strip() for name in names.split(",")]
    assert "window" in names, names
    return names


def results(run):
    return {key: run[key] for key in ("events", "simulated_ps", "digest", "hops") if key in run}


def check_case(program, case):
    for options in SMALL[case]:
        words = [case] + options
        both = report(program, words + ["--engine", "both"])
        for field in FIELDS:
            assert field in both, field
        assert both["identical"] is True, words
        assert both["events"] > 100 and both["cpu_s"] > 0, words
        assert results(both) == results(both["reference"]), words
        if case in ONE_RANK:
            continue
        for policy in policies(program):
            for threads in ("2", "3"):
                run = report(program, words + ["--threads", threads, "--policy", policy])
                assert run["ranks"] == int(threads) and run["remote_messages"] > 0, words
                assert results(run) == results(both), (words, policy, threads)
                # A global round of `promise` first counts what is under way.
                most = run["rounds"] * (2 if policy == "promise" else 1)
                assert 0 < run["reductions"] <= most, (words, policy, threads)
                assert policy != "window" or run["reductions"] == run["rounds"], (words, threads)


def check_options(program):
    for words in BAD:
        done = call(program, words)
        assert done.returncode == 2, (words, done.returncode)
        assert done.stdout == "", words
        lines = done.stderr.splitlines()
        if words:
            assert len(lines) == 1 and lines[0].startswith("error: "), (words, lines)
    done = call(program, ["phold", "--help"])
    assert done.returncode == 0 and "--remote" in done.stdout


def check_sensitive(program):
    cases = [[case] + SMALL[case][0] for case in ("phold", "hold", "mesh", "sparse")]
    for words in cases + [["loggops", "--lps", "32", "--pattern", "random-pairs"]]:
        digests = {report(program, words + ["--seed", seed])["digest"] for seed in ("1", "2", "3")}
        assert len(digests) == 3, words


def check_idle(program):
    run = report(program, ["idle", "--side", "60"])
    assert run["tiles"] == 3600 and run["events"] > 0
    parts = ["router", "executor", "memory", "compute", "engine"]
    each = {part: run[part + "_bytes_per_tile"] for part in parts}
    assert 0 < each["router"] <= 128, each
    assert each["router"] < sum(each.values()) <= 256, each


def check_systolic(program):
    words = ["systolic", "--side", "16", "--rows", "40", "--columns", "16", "--depth", "32"]
    for kind in ("int8", "fp32"):
        run = report(program, words + ["--type", kind, "--repeat", "2"])
        assert run["cycles"] == 2 * 40 + 16 + 14 and run["mac_steps"] == 256 * run["cycles"], run


def check_flows(program):
    """More flows take longer; the digest is of the flows, and of nothing else."""
    few, many = (report(program, ["flows", "--hosts", "50", "--flows", flows]) for flows in ("100", "200"))
    assert few["events"] == 100 and many["events"] == 200
    assert few["simulated_ps"] < many["simulated_ps"]
    again = report(program, ["flows", "--hosts", "50", "--flows", "100", "--repeat", "2"])
    assert again["digest"] == few["digest"] != many["digest"]


def check_dram(program):
    """Requests cost time; the same ones take the same cycles."""
    words = ["dram", "--preset", "DDR4", "--requests", "20000"]
    run, again = report(program, words), report(program, words + ["--repeat", "2"])
    assert run["cycles"] == again["cycles"] >= 20000 * 4
    assert 0.5 < run["utilization"] <= 1 and run["requests_per_cpu_s"] > 0
    other = report(program, words + ["--pattern", "random"])
    assert other["cycles"] != run["cycles"]


def check_flows_on_simgrid(program):
    words = ["flows", "--hosts", "100", "--flows", "300", "--spread", "10 ms"]
    ours, theirs = report(program, words), report(program, words + ["--engine", "simgrid"])
    assert ours["events"] == theirs["events"] == 300
    assert abs(ours["simulated_ps"] - theirs["simulated_ps"]) <= 1e-9 * ours["simulated_ps"]


def check_simgrid(program):
    if not (pathlib.Path(program).parent / "tessera-bench-ring-simgrid").exists():
        done = call(program, ["ring", "--engine", "simgrid"])
        assert done.returncode == 2 and "no SimGrid" in done.stderr
        print("skipped: this build has no SimGrid")
        return
    check_flows_on_simgrid(program)
    words = ["ring", "--lps", "12", "--iterations", "2"]
    ours, theirs = report(program, words), report(program, words + ["--engine", "simgrid"])
    assert ours["events"] == theirs["events"] == 12 * 2 * 11 * 2
    # SimGrid's time is a double in seconds.
    assert abs(ours["simulated_ps"] - theirs["simulated_ps"]) <= 1e-9 * ours["simulated_ps"]


def main():
    program, check = sys.argv[1:]
    checks = {"idle": check_idle, "dram": check_dram, "flows": check_flows, "options": check_options,
              "sensitive": check_sensitive, "simgrid": check_simgrid, "systolic": check_systolic}
    if check in checks:
        checks[check](program)
    else:
        check_case(program, check)


if __name__ == "__main__":
    main()
