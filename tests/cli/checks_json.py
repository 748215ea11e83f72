"""Errors of commands that were asked for JSON."""
import json

from program import HERE, check, expect, fits

# Each that has --json, with what it cannot do.
WRONG = [["run", "nowhere.yaml"], ["check", "nowhere.yaml"], ["plan", "nowhere.yaml"], ["capacity", "nowhere.yaml"],
         ["campaign", "nowhere.yaml"], ["calibrate", "nowhere.yaml"], ["systolic", "nowhere.csv"],
         ["dram", "nowhere.yaml"], ["import", "nowhere.onnx"], ["show", "nowhere"], ["list", "nothing"],
         ["compare", "nowhere", "nowhere"], ["sweep", "nowhere.yaml"]]


def error_of(program, *words, code, ranks=0):
    """What stands under `error`, which says the same as the text."""
    plain = program.call(*words, ranks=ranks)
    done = program.call(*words, "--json", ranks=ranks)
    expect((done.returncode, plain.returncode) == (code, code), done.stderr_text + plain.stderr_text)
    if not ranks:  # a launcher adds its own
        expect(done.stderr_text == plain.stderr_text and plain.stdout_text == "", done.stderr_text)
    found = json.loads(done.stdout_text)
    fits(found, "error.schema.json")
    error = found["error"]
    expect(error["exit_code"] == code and error["message"] in plain.stderr_text, error)
    return error


@check
def errors_of_all_commands_are_json(program):
    for words in WRONG:
        done = program.call(*words, "--json")
        expect(done.returncode in (2, 74) and done.stderr_text.count("\n") >= 1, (words, done.stderr_text))
        found = json.loads(done.stdout_text)
        fits(found, "error.schema.json")
        expect(found["error"]["exit_code"] == done.returncode, found)


@check
def errors_have_their_places_in_json(program):
    path = program.scratch / "wrong.yaml"
    path.write_text((HERE / "short.yaml").read_text(encoding="utf-8")
                    .replace("../parallel", str(HERE.parent / "parallel")) + "runs: 1\nother: 2\n", encoding="utf-8")
    lines = path.read_text(encoding="utf-8").count("\n")
    for ranks in (0, 2):
        error = error_of(program, "check", path, code=2, ranks=ranks)
        expect(error["message"].startswith("runs: unknown key"), error)
        expect((error["file"], error["line"], error["column"]) == (str(path), lines - 1, 1), error)
        expect([each["line"] for each in error["complaints"]] == [lines - 1, lines], error)
        expect(error["rank"] is None, error)
    error = error_of(program, "check", path, "--ranks", "none", code=2)
    expect((error["file"], error["line"], error["column"]) == (None, None, None), error)


@check
def errors_about_outputs_name_them_in_json(program):
    """A folder of something else, a file of somebody else, one that cannot be written, a folder in use."""
    mine = program.scratch / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("mine\n", encoding="utf-8")
    away = mine / "thesis.tex" / "best.yaml"
    plan = ["plan", HERE / "short.yaml", "-q", "--folder", program.scratch / "found", "-o"]
    for words, path, code in (
            (["run", HERE / "short.yaml", "-q", "-o", mine], mine, 2),
            (["run", HERE / "short.yaml", "-q", "-o", mine / "thesis.tex"], mine / "thesis.tex", 2),
            ([*plan, mine / "thesis.tex"], mine / "thesis.tex", 2), ([*plan, away], away, 74),
            (["show", program.scratch / "nowhere"], program.scratch / "nowhere", 2)):
        error = error_of(program, *words, code=code)
        expect(error["file"] is not None and error["file"].startswith(str(path)) and error["line"] is None, error)
        expect(str(path) not in error["message"], error)
    process = program.start(["run", HERE / "long.yaml", "-q", "-o", program.folder])
    program.wait_until_running(process)
    try:
        error = error_of(program, "run", HERE / "short.yaml", "-q", "-o", program.folder, code=2)
    finally:
        process.kill()
        process.communicate()
    expect(error["file"] == str(program.folder) and "in use: process %d" % process.pid in error["message"], error)
