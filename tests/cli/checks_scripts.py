"""What scripts, shells and manuals are told."""
import json
import re
import shutil
import subprocess

from program import HERE, check, expect, expect_refusal, fits


@check
def run_as_json(program):
    done = program.call("run", HERE / "short.yaml", "-o", program.folder, "--json", "-q")
    expect(done.returncode == 0, done.stderr_text)
    summary = json.loads(done.stdout_text)
    expect(summary == program.summary(), "stdout is not summary.json")
    fits(summary, "summary.schema.json")
    shown = program.call("show", program.folder, "--json")
    expect(json.loads(shown.stdout_text) == summary, shown.stdout_text)
    two = program.call("run", HERE / "short.yaml", "-o", program.scratch / "two", "--json", "-q",
                       ranks=2)
    expect(json.loads(two.stdout_text)["result_digest"] == summary["result_digest"],
           two.stdout_text)


@check
def progress_as_json(program):
    process = program.start(["run", HERE / "long.yaml", "-o", program.folder, "--progress", "json"])
    keys = {"simulated_ps", "fraction", "events", "events_per_s", "resident_bytes", "wall_s",
            "left_s"}
    seen = 0
    for line in process.stderr:
        if line.startswith("{"):
            expect(set(json.loads(line)) == keys, line)
            fits(json.loads(line), "progress.schema.json")
            seen += 1
        if seen == 2:
            break
    process.terminate()
    process.communicate(timeout=90)
    expect(seen == 2, "no progress was told")
    expect_refusal(program.call("run", HERE / "short.yaml", "--progress", "jsn"), 2,
                   "--progress: .*did you mean 'json'")


@check
def check_as_json(program):
    for ranks in ("1", "2"):
        done = program.call("check", HERE / "short.yaml", "--json", "--ranks", ranks)
        expect(done.returncode == 0, done.stderr_text)
        found = json.loads(done.stdout_text)
        fits(found, "check.schema.json")
        expect(sum(found["rank_nodes"]) == found["nodes"], found["rank_nodes"])
        expect(bool(found["cuts"]) == (ranks == "2"), found["cuts"])
    text = program.call("check", HERE / "short.yaml").stdout_text
    expect("predicted memory of the largest rank" in text, text)
    expect("%d MiB" % (found["predicted_bytes"] >> 20) in text or ranks == "2", text)
    expect_refusal(program.call("check", HERE / "nowhere.yaml", "--json"), 2, "nowhere.yaml")


@check
def sections_of_files(program):
    done = program.call("list", "--sections", "experiment")
    tree = json.loads(done.stdout_text)
    names = [part["name"] for part in tree["sections"]]
    expect(names == ["machine", "workload", "strategy", "execution", "run"], names)
    fits(tree, "sections.schema.json")
    fits(json.loads(program.call("list", "--json").stdout_text), "list.schema.json")
    expect_refusal(program.call("list", "--sections", "experimnt"), 2,
                   "did you mean 'experiment'")
    expect_refusal(program.call("list", "--schema", "file"), 2, "--schema: unknown value 'file'")


def completed(script, words):
    """What bash offers behind these words, the last of which is being typed."""
    text = script + "\nCOMP_WORDS=(%s)\nCOMP_CWORD=%d\ncompopt() { :; }\n_tessera\n" % (
        " ".join("'%s'" % word for word in words), len(words) - 1)
    text += 'printf "%s\\n" "${COMPREPLY[@]}"\n'
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=False,
                          cwd=HERE)
    expect(done.returncode == 0 and done.stderr == "", done.stderr)
    return done.stdout.split()


@check
def completion_of_bash(program):
    script = program.call("completion", "bash").stdout_text
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    expect(done.returncode == 0, done.stderr)
    expect(completed(script, ["tessera", "sh"]) == ["show"], "commands")
    expect(set(completed(script, ["tessera", "run", "--tr"])) == {"--trace"}, "options")
    expect(completed(script, ["tessera", "run", "--trace", "f"]) == ["full"], "values")
    expect(completed(script, ["tessera", "list", "netw"]) == ["networks"], "subjects")
    expect("machine.network.model=" in completed(script, ["tessera", "run", "--set",
                                                          "machine.network.mo"]), "keys")
    expect(completed(script, ["tessera", "plan", "--keep", "ten"]) == ["tensor"], "keys of a strategy")
    # Bash cuts words at '='.
    model = ["machine.network.model", "=", "pack"]
    expect(completed(script, ["tessera", "run", "--set", *model]) == ["packet"], "values of a key")
    expect(completed(script, ["tessera", "run", "--set", "=", *model]) == ["packet"], "values of a key")
    expect("packet" in completed(script, ["tessera", "run", "--set", *model[:2]]), "all values of a key")
    expect("zb-h1" in completed(script, ["tessera", "plan", "--keep", "schedule", "="]), "schedules")
    expect(completed(script, ["tessera", "plan", "--keep", "recompute", "=", "f"]) == ["full"], "recompute")
    expect("auto" in completed(script, ["tessera", "run", "--partition", ""]), "partitions")
    expect(completed(script, ["tessera", "run", "--partition", "=", "aut"]) == ["auto"], "partitions")
    expect(completed(script, ["tessera", "check", "--synchronization", ""]), "synchronizations")
    files = completed(script, ["tessera", "run", "sho"])
    expect(files == ["short.yaml"], files)
    expect(completed(script, ["tessera", "run", "check_cl"]) == [], "files of other kinds")
    every = re.findall(r"^  ([a-z]+) ", program.call("--help").stdout_text, re.MULTILINE)
    expect(set(every) <= set(completed(script, ["tessera", ""])), "all commands")


@check
def completion_of_other_shells(program):
    for shell, words in (("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])):
        script = program.call("completion", shell).stdout_text
        expect("--trace" in script or "-l trace" in script, script[:300])
        if shutil.which(shell):
            path = program.scratch / shell
            path.write_text(script, encoding="utf-8")
            done = subprocess.run([*words, path], capture_output=True, text=True, check=False)
            expect(done.returncode == 0 and not done.stderr, "%s: %s" % (shell, done.stderr))
    if shutil.which("fish"):
        asked = "source %s; complete --do-complete 'tessera run --trace f'" % (
            program.scratch / "fish")
        done = subprocess.run(["fish", "--no-config", "-c", asked], capture_output=True, text=True,
                              check=False)
        expect(done.stdout.split()[:1] == ["full"], done.stdout + done.stderr)
        for words, value in (("--set machine.network.model=pack", "machine.network.model=packet"),
                             ("--partition aut", "auto")):
            asked = "source %s; complete --do-complete 'tessera run %s'" % (program.scratch / "fish", words)
            done = subprocess.run(["fish", "--no-config", "-c", asked], capture_output=True, text=True,
                                  check=False)
            expect(done.stdout.split()[:1] == [value], done.stdout + done.stderr)
    expect_refusal(program.call("completion", "bsh"), 2, "did you mean 'bash'")
    expect_refusal(program.call("completion"), 2, "no shell given")


@check
def manual(program):
    folder = program.scratch / "man1"
    done = program.call("man", "-o", folder)
    expect(done.returncode == 0 and done.stdout_text == "", done.stderr_text)
    every = re.findall(r"^  ([a-z]+) ", program.call("--help").stdout_text, re.MULTILINE)
    expect({path.name for path in folder.iterdir()} ==
           {"tessera.1", *("tessera-%s.1" % name for name in every)}, sorted(folder.iterdir()))
    for path in folder.iterdir():
        first, name = path.read_text(encoding="utf-8").splitlines()[:2]
        expect(first.startswith('.TH %s 1 ""' % path.stem.upper()) and name == ".SH NAME", (path, first))
    page = program.call("man", "run").stdout_text
    expect(page == (folder / "tessera-run.1").read_text(encoding="utf-8"), page)
    for option in re.findall("--([a-z-]+)", program.call("run", "--help").stdout_text):
        if option not in ("resume", "help"):
            expect("\\-\\-" + option.replace("-", "\\-") in page, option)
    expect("\\fB75\\fR" in page, page)
    if shutil.which("mandoc"):
        for path in folder.iterdir():
            lint = subprocess.run(["mandoc", "-T", "lint", "-W", "error", path],
                                  capture_output=True, text=True, check=False)
            expect(lint.returncode == 0, lint.stdout)
    if shutil.which("man"):
        shown = subprocess.run(["man", "-l", folder / "tessera-run.1"], capture_output=True,
                               text=True, check=False, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
                                                            "MANPAGER": "cat"})
        expect("--trace LEVEL" in shown.stdout and not shown.stderr.strip(), shown.stderr)
    expect_refusal(program.call("man", "runn"), 2, "did you mean 'run'")
