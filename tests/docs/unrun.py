"""Blocks of commands that the tests do not run: whether what they name is there at all.

Of each command of the program: it, and its options. Of each of the tree's scripts: it, and whether its text, or
that of the package of its name, has the options. Of each experiment and preset: whether it is there.
"""
import json
import pathlib
import re
import subprocess

SOURCES = (".py", ".cpp", ".hpp", ".sh", "")


def commands_of(body):
    """Words of each simple command, roughly: quotes hide nothing."""
    text = re.sub(r"(^|\s)#.*", "", body).replace("\\\n", " ")
    for line in re.split(r"\n|;|&&|\|\|?|\bthen\b", text):
        words = [word.strip("\"'") for word in line.split()]
        if words:
            yield words


def options_in(words):
    """Long ones, up to what is handed on to another program."""
    until = words.index("--") if "--" in words else len(words)
    return [word.split("=")[0] for word in words[:until] if re.match(r"--[a-z]", word)]


def text_below(place):
    files = sorted(place.rglob("*")) if place.is_dir() else [place]
    return "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files
                     if file.is_file() and file.suffix in SOURCES)


def of_program(words, tessera):
    done = subprocess.run([tessera, words[0], "--help"], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        yield "no command '%s'" % words[0]
        return
    known = set(re.findall(r"--[a-z][a-z-]*", done.stdout))
    for option in options_in(words):
        if option not in known:
            yield "tessera %s has no %s" % (words[0], option)


def of_script(name, words, repository):
    script = repository / name
    if not script.is_file():
        yield "no script %s" % name
        return
    text = text_below(script) + text_below(script.parent / ("tessera_" + script.name))
    for option in options_in(words):
        if option not in text and '"%s"' % option.lstrip("-") not in text:
            yield "%s has no %s" % (name, option)


def of_benchmark(words, repository):
    text = text_below(repository / "bench")
    for option in options_in(words):
        if '"%s"' % option.lstrip("-") not in text:
            yield "tessera-bench has no %s" % option


def of_presets(words, repository):
    text = (repository / "CMakePresets.json").read_text(encoding="utf-8")
    known = {preset["name"] for preset in json.loads(text)["configurePresets"]}
    for option, value in zip(words, words[1:]):
        if option == "--preset" and value not in known:
            yield "no preset '%s'" % value


def of_command(words, tessera, repository):
    for place, word in enumerate(words):
        rest = words[place + 1:]
        name = pathlib.PurePosixPath(word).name
        if name == "tessera" and rest and re.fullmatch("[a-z]+", rest[0]):
            yield from of_program(rest, tessera)
            break
        if name == "tessera-bench":
            yield from of_benchmark(rest, repository)
            break
        if word.startswith("scripts/"):
            yield from of_script(word, rest, repository)
            break
        if name in ("cmake", "ctest"):
            yield from of_presets(rest, repository)
            break
    for path in re.findall(r"(?:configs|workloads)/[\w./-]+\.yaml", " ".join(words)):
        if not (repository / path).is_file():
            yield "no file %s" % path


def faults(body, tessera, repository):
    for words in commands_of(body):
        yield from of_command(words, tessera, repository)


PLANTED = {"mpirun -n 2 tessera run x.yaml --checkpoint-evry 3 | tessera show out/x": "tessera run has no --checkpoint-evry",
           "srun tessera shw out/x": "no command 'shw'",
           "scripts/bild": "no script scripts/bild",
           "scripts/build --targt tessera": "scripts/build has no --targt",
           "tessera-bench mesh --sid 3": "tessera-bench has no --sid",
           "cmake --preset cii": "no preset 'cii'",
           "tessera run configs/none.yaml  # as it is": "no file configs/none.yaml"}


def self_test(tessera, repository):
    for body, fault in PLANTED.items():
        found = list(faults(body, tessera, repository))
        if found != [fault]:
            yield "of '%s' is found: %s" % (body, found)
