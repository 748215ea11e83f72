"""What reads traces, called with the words of a command line in copies of one interpreter: to start one and to
import the libraries takes longer than most of what tests ask for. Some tests still call scripts/plot and
scripts/report, which find an interpreter and say what a crash of HDF5 means.

As a program it is that interpreter: it takes calls as lines of JSON, and answers each with an exit code.
"""

import atexit
import functools
import importlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = REPOSITORY / "scripts"
MODULES = {"plot": "tessera_plots.__main__", "report": "tessera_plots.report"}


@functools.lru_cache
def path_with_libraries():
    """PATH with the Python first that has the libraries: else scripts/plot and scripts/report ask one that has not,
    each time. Pictures in test_plots.py are drawn without."""
    folder = tempfile.mkdtemp(prefix="tessera python ")
    atexit.register(shutil.rmtree, folder)
    find = f'source "{SCRIPTS}/lib.sh"; type -P "$(python_with_libraries)"'
    found = subprocess.run(["bash", "-c", find], capture_output=True, text=True, check=True).stdout.strip()
    os.symlink(found, os.path.join(folder, "python3"))
    return os.pathsep.join([folder, os.environ["PATH"]])


class Prepared:
    """An interpreter that has the libraries, begun by the first call."""

    def __init__(self):
        self._process = None

    def plot(self, *words):
        return self._call("plot", words)

    def report(self, *words):
        return self._call("report", words)

    def python(self, code, *words):
        """The result of a piece of Python that uses the tools."""
        return self._call(None, ["-c", *words], code)

    def _call(self, tool, words, code=""):
        if self._process is None:
            self._begin()
        with tempfile.TemporaryDirectory() as scratch:
            paths = [os.path.join(scratch, name) for name in ("out", "err")]
            words = [str(word) for word in words]
            json.dump({"tool": tool, "words": words, "code": code, "paths": paths}, self._process.stdin)
            print(file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
            assert answer, "the prepared interpreter has ended"
            texts = [pathlib.Path(path).read_text(encoding="utf-8") for path in paths]
        return subprocess.CompletedProcess(words, int(answer), *texts)

    def _begin(self):
        find = f'source "{SCRIPTS}/lib.sh"; exec "$(python_with_libraries)" -B "$@"'
        self._process = subprocess.Popen(["bash", "-c", find, "-", __file__], text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        atexit.register(self._end)

    def _end(self):
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


def result_of(call):
    """The exit code of a call, in the copy that is for it alone."""
    for number, path in enumerate(call["paths"], start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), number)
    sys.argv = call["words"]
    try:
        if call["tool"] is None:
            exec(call["code"], {"__name__": "__main__"})
            return 0
        os.environ["TESSERA_TOOL"] = call["tool"]
        return importlib.import_module(MODULES[call["tool"]]).main(call["words"])
    except SystemExit as end:
        return end.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1


def answer_calls():
    sys.path.insert(0, str(SCRIPTS))
    for name in ("h5py", "matplotlib.pyplot", *MODULES.values()):
        importlib.import_module(name)
    for line in sys.stdin:
        copy = os.fork()
        if copy == 0:
            code = result_of(json.loads(line))
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        _, status = os.waitpid(copy, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    answer_calls()
