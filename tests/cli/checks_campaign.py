"""Trainings of weeks: what the command prints, and what it refuses."""
import json

from program import HERE, check, expect, expect_refusal, fits

LLAMA3 = HERE.parent.parent / "configs" / "campaigns" / "llama3_405b.yaml"


@check
def campaign_says_what_weeks_take(program):
    done = program.call("campaign", LLAMA3, "--json")
    expect(done.returncode == 0, done.stderr_text)
    found = json.loads(done.stdout_text)
    fits(found, "campaign.schema.json")
    expect(found["goodput"] > 0.9, found)
    drawn = found["drawn"]
    expect(abs(drawn["mean_s"] - found["time_s"]) < 3 * drawn["standard_error_s"], found)
    parts = sum(found[part] for part in ("work_s", "stragglers_s", "checkpoints_s", "lost_s", "restarts_s"))
    expect(abs(parts / found["time_s"] - 1) < 1e-9, found)
    text = program.call("campaign", LLAMA3, "--set", "trials=0").stdout_text
    expect("goodput" in text and "drawn" not in text, text)
    expect("cost nothing" not in text, text)
    path = program.scratch / "free.yaml"
    path.write_text("iteration: {time: 6, devices: 1000}\nwork: {iterations: 10000}\nfailures: {device_mtbf: 1000}\n")
    text = program.call("campaign", path).stdout_text
    expect("6.0 s, as they cost nothing (checkpoint.cost)" in text, text)


@check
def campaign_takes_a_run(program):
    done = program.call("run", HERE / "short.yaml", "-o", program.folder, "-q", "-q", "--set",
                        "machine.power={idle: 100, compute: 200}")
    expect(done.returncode == 0, done.stderr_text)
    summary = program.summary()
    expect(100 <= summary["power_w_per_tile"] <= 300, summary)
    path = program.scratch / "campaign.yaml"
    path.write_text(f"run: {program.folder}\nwork: {{iterations: 1e6}}\nprices: {{kwh: 0.1}}\n")
    found = json.loads(program.call("campaign", path, "--json").stdout_text)
    fits(found, "campaign.schema.json")
    expect(found["devices"] == summary["tiles"] and found["drawn"] is None, found)
    energy = 1e6 * summary["energy_j_per_iteration"] / 3.6e6
    expect(abs(found["energy_kwh"] / energy - 1) < 1e-9, found)
    expect(abs(found["cost"] / (0.1 * energy) - 1) < 1e-9, found)
    # Its language model's tokens, so that a million of them have a price.
    expect(summary["tokens_per_iteration"] > summary["samples_per_iteration"], summary)
    expect(found["tokens"] == 1e6 * summary["tokens_per_iteration"], found)
    text = program.call("campaign", path).stdout_text
    expect("cost of a million tokens" in text, text)


@check
def campaign_refuses(program):
    path = program.scratch / "bad.yaml"
    path.write_text("iteration: {time: 1, devices: 8}\nwork: {days: 1}\nrestarts: 5\n")
    expect_refusal(program.call("campaign", path), 2, r"bad.yaml:3:1: .*did you mean 'restart'")
    path.write_text("iteration: {time: 1, devices: 8}\nwork: {days: 1}\nfailures: {device_mtbf: 1e-6}\n")
    expect_refusal(program.call("campaign", path), 2, "failures come too often")
    path.write_text("iteration: {time: 10, devices: 1000}\nwork: {days: 30}\nfailures: {device_mtbf: 10}\n"
                    "checkpoint: {cost: 60}\nrestart: 300\ntrials: 10000\n")
    expect_refusal(program.call("campaign", path), 2, r"bad.yaml:6:1: error: trials: would draw .* failures, at most 1e\+09; "
                   r"expected are .* days with a goodput of .* %")
    path.write_text("iteration: {time: 1, devices: 8}\nwork: {days: 1e12}\nfailures: {device_mtbf: 1e6}\n")
    expect_refusal(program.call("campaign", path), 2, r"bad.yaml:2:1: error: work: takes more than 10\^15 s")
    path.write_text("run: nowhere\nwork: {days: 1}\n")
    expect_refusal(program.call("campaign", path), 2, "bad.yaml:1:1: error: run: there is no run in 'nowhere'")
