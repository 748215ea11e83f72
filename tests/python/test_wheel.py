"""A wheel from the tree, and the installed package, work without the tree."""
import os
import subprocess
import sys
import zipfile

import pytest

USE = ("import tessera as ts, sys; "
       "mesh = ts.topologies.Mesh(rows=1, columns=2, bandwidth='1 GB/s', latency='1 ns'); "
       "print(ts.__version__, mesh.rows, ts.pictures._home(), ts.find_program())")


def python(words, **options):
    return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True,
                          check=False, **options)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    repository = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run([os.path.join(repository, "scripts/wheel"), folder], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("tessera-*.whl"))


def test_wheel_holds_all(wheel, repository):
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
    for path in [*(repository / "python/tessera").glob("*.py*"),
                 repository / "python/tessera/keys.json", repository / "python/tessera/py.typed"]:
        if path.suffix != ".pyc":
            assert f"tessera/{path.name}" in names
    assert "tessera_plots/run_folder.py" in names


def test_wheel_works_by_itself(wheel, tmp_path, program):
    with zipfile.ZipFile(wheel) as file:
        file.extractall(tmp_path)
    done = python(["-c", USE], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    version = subprocess.run([program, "--version"], capture_output=True, text=True,
                             check=True).stdout.split()[1]
    assert done.stdout.split()[:3] == [version, "1", str(tmp_path)]


def test_tree_stays_clean(wheel, repository):
    assert not list(repository.glob("python/*.egg-info"))
    assert not (repository / "python/build").exists()
