"""An install tree: the package finds its program and its pictures; completions and manuals are there."""
import os
import pathlib
import subprocess
import sys

PREFIX = pathlib.Path(os.environ["TESSERA_PREFIX"])


def test_package():
    environment = {key: value for key, value in os.environ.items() if key != "TESSERA"}
    environment["PYTHONPATH"] = str(PREFIX / "lib/python3/dist-packages")
    code = ("import tessera as ts; print(ts.find_program(), ts.pictures._home(), "
            "ts.program.version() == ts.__version__)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                          env=environment, cwd="/")
    assert done.stdout.split() == [str(PREFIX / "bin/tessera"),
                                   str(PREFIX / "lib/python3/dist-packages"), "True"], done.stderr


def test_completions_and_manuals():
    share = PREFIX / "share"
    assert "_tessera" in (share / "bash-completion/completions/tessera").read_text("utf-8")
    assert "complete -c tessera" in (share / "fish/vendor_completions.d/tessera.fish").read_text("utf-8")
    assert (share / "zsh/site-functions/_tessera").read_text("utf-8").startswith("#compdef tessera")
    pages = {path.name for path in (share / "man/man1").iterdir()}
    assert {"tessera.1", "tessera-run.1", "tessera-man.1"} <= pages
