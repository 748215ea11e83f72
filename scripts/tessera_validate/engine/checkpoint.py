"""What a checkpoint takes, and a run that is stopped and goes on."""

import re
import shutil
import signal
import subprocess
import sys
import time

from measured import measured, size_of
from page import call, launched, summary_of

WAFER = "full_wafer"
SMALL = "grayskull_tiny"


def stopped_halfway(tools, experiment, wall_s):
    """A run that got SIGTERM after half of `wall_s`: its folder, what it said, time to the end.

    Tried again with less patience when the run was over before.
    """
    for patience in (0.5, 0.25, 0.1, 0.03):
        folder = tools.runner.new_folder(experiment)
        command = tools.runner.command(experiment, folder, 1, ["-v", "--trace", "none"])
        started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        while not (folder / "summary.json").exists() and started.poll() is None:
            time.sleep(0.005)
        time.sleep(patience * wall_s)
        asked = time.monotonic()
        started.send_signal(signal.SIGTERM)
        said, _ = started.communicate()
        if started.returncode == 75:
            return folder, said, time.monotonic() - asked
        if started.returncode != 0:
            sys.exit(f"error: {' '.join(command)}: exit code {started.returncode}\n{said}")
        shutil.rmtree(folder)
    sys.exit(f"error: {experiment} was over before it could be stopped")


def checkpoint(report, tools, setting):
    experiment = SMALL if setting.reduced else WAFER
    whole = tools.runner.run(experiment, 1, ("--trace", "none"))
    folder, said, seconds = stopped_halfway(tools, experiment, whole["wall_s"])
    at = summary_of(folder)
    written = re.findall(r"checkpoint \d+ at ([^:]+): (.+?) in ([0-9.e-]+) s", said)
    size = size_of(folder, "checkpoints/*/*")
    print(f"resume  {experiment} on 2 ranks", flush=True)
    call(launched(2, [tools.program, "run", "--resume", folder, "-q", "-q"]))
    again = summary_of(folder)
    report.say("## Checkpoints")
    report.say()
    report.say(f"Commands: `build/release/tessera run configs/experiments/{experiment}.yaml --trace none "
               "-o DIR`, SIGTERM after half of its wall time (exit code 75), then `mpirun -n 2 "
               "build/release/tessera run --resume DIR`.")
    report.say()
    equal = report.bound(again["result_digest"] == whole["result_digest"],
                         f"{experiment}: stopped and resumed on 2 ranks, the digest is the same")
    report.bound(bool(written), f"{experiment}: a checkpoint is written at the stop")
    report.table(["figure", "value"], [
        ["simulated when stopped [ms]", f"{at['simulated_time_ps'] / 1e9:.3f} of "
                                        f"{whole['simulated_time_ps'] / 1e9:.3f}"],
        ["checkpoint", f"{size / 1e6:.2f} MB, {size / max(whole['tiles'], 1):.0f} bytes a tile"],
        ["time to write it [s]", written[-1][2] if written else ""],
        ["from the signal to the end of the process [s]", f"{seconds:.2f}"],
        ["wall time: uninterrupted on 1 rank; resumed on 2 [s]",
         f"{whole['wall_s']:.1f}; {again['segments'][-1]['wall_s']:.1f}"],
        ["digest: uninterrupted; resumed", f"`{whole['result_digest']}`; "
                                           f"`{again['result_digest']}`: {equal}"]])
    shutil.rmtree(folder)


sections = measured(checkpoint)
