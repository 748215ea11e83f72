"""Blocks of the pages that build, install packages or need a batch system: run in a copy of the machine.

Marked on the page, right above, with why the gate leaves them out:

    *Run by the long tests alone: it builds.*

All of them run one after the other in one copy (machine_copy.py), in a clone of the last commit, each text
once. Before a block what its page takes for granted is prepared (`PREPARED`): a batch system, files that the
page describes. What a block is to leave behind is looked at then (`EXPECTED`).
"""
import re
import sys
import tempfile
import time

import blocks
import machine_copy

TREE = "/root/tessera"
LIMIT = 7200  # [s] for a block
NO_TEST = 77

SLURM = """
apt-get -q update
apt-get -q -y install --no-install-recommends slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge
[ -s /etc/munge/munge.key ] || mungekey -c
mkdir -p /run/munge /var/spool/slurmctld /var/spool/slurmd /etc/slurm
chown munge: /run/munge /etc/munge/munge.key
runuser -u munge -- munged
# As many processors as the pages ask for, whatever the machine has.
cat >/etc/slurm/slurm.conf <<END
ClusterName=here
SlurmctldHost=$(hostname)
SlurmUser=root
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
NodeName=$(hostname) NodeAddr=127.0.0.1 CPUs=64 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
END
echo "127.0.0.1 $(hostname)" >>/etc/hosts
slurmctld
slurmd
for _ in $(seq 60); do sinfo -h -o %T | grep -q idle && break; sleep 1; done
sinfo -h -o %T | grep idle
"""

# Debian's minimal system as the image that the container file begins with, and settings for machines on
# which containers may have no network or groups of processes of their own.
CONTAINERS = """
limit() {  # of this machine, which containers may not go beyond: of ulimit's letter, in its units
  ulimit -H "-$1" | awk -v unit="$2" '{print $1 == "unlimited" ? -1 : $1 * unit}'
}
apt-get -q update
apt-get -q -y install --no-install-recommends podman crun mmdebstrap
mkdir -p /etc/containers /var/lib/containers
cat >/etc/containers/storage.conf <<END
[storage]
driver = "vfs"
graphroot = "/var/lib/containers/storage"
runroot = "/run/containers/storage"
END
cat >/etc/containers/containers.conf <<END
[containers]
netns = "host"
cgroups = "disabled"
default_ulimits = ["memlock=$(limit l 1024)", "nofile=$(limit n 1)", "nproc=$(limit u 1)"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "crun"
END
echo 'export BUILDAH_ISOLATION=chroot' >/etc/profile.d/images.sh
printf 'unqualified-search-registries = ["localhost"]\\n' >/etc/containers/registries.conf
sources=()
for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
  [ ! -s $file ] || sources+=($file)
done
mmdebstrap --quiet --variant=minbase bookworm /root/bare.tar "${sources[@]}"
podman import -q /root/bare.tar localhost/debian:bookworm-slim
"""

# A program in the path, that of the tree.
BUILT = """
scripts/build >/dev/null
ln -sf "$PWD/build/release/tessera" /usr/local/bin/tessera
"""

# The files that the page explains stand whole in its notebook.
OWN_NETWORK = """
scripts/build >/dev/null
mkdir -p mine
python3 - <<'END'
import json, re
cells = json.load(open("docs/tutorials/own_network.ipynb", encoding="utf-8"))["cells"]
text = "".join("".join(cell["source"]) + "\\n" for cell in cells if cell["cell_type"] == "code")
found = dict(re.findall(r'^(network|program|cmake) = r?\"{3}(.*?)^\"{3}$', text, re.M | re.S))
for file, name in {"postal.cpp": "network", "main.cpp": "program", "CMakeLists.txt": "cmake"}.items():
    open("mine/" + file, "w", encoding="utf-8").write(found[name])
END
cat >experiment.yaml <<'END'
name: own
machine:
  topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 100 GB/s, latency: 10 ns}
  tile: {peak: {fp16: 1 TFLOP/s}, sram: 64 KiB}
  dram: {at: each, bandwidth: 50 GB/s, latency: 100 ns}
  network: {model: postal, start_up: 1 us, bandwidth: 100 GB/s}
workload: {kind: transformer, layers: 2, hidden: 64, heads: 4, sequence: 16, vocabulary: 64, batch: 4}
strategy: {pipeline: 2, tensor: 2}
END
"""

# Minutes of work on one rank, so that the signal comes while it runs.
EXPERIMENT = """
cat >experiment.yaml <<'END'
name: job
machine: configs/machines/palm_wafer.yaml
workload: workloads/tiny.yaml
strategy: {pipeline: 8, tensor: 4, data: 2, micro_batch: 2, placement: {layout: s-shape}}
run: {iterations: 15000, trace: summary}
END
rm -rf out/run
"""

# By what a block has in it: once in a copy what it needs, and each time what it reads.
NEEDED = {r"^#SBATCH": SLURM + BUILT, r"^podman": CONTAINERS, r"-S mine": OWN_NETWORK}
READ = {r"^#SBATCH": EXPERIMENT}

# What the block is to leave behind.
EXPECTED = {
    r"^scripts/quickstart": "test -s out/quickstart/one-rank/report.html",
    r"^tessera-quickstart": "test -s out/quickstart/one-rank/report.html",
    r"^podman": "test -s out/quickstart/one-rank/report.html",
    r"^cmake --install build/release --prefix ~/tessera": "~/tessera/bin/tessera --version",
    r"^module load": "module use ~/tessera/share/tessera/modulefiles; module load tessera; "
                     'test "$TESSERA_ROOT" = ~/tessera',
    r"-S mine": "grep -q finished out/own/summary.json",
}


def of(table, body):
    return [text for pattern, text in table.items() if re.search(pattern, body, re.MULTILINE)]


# A script for the batch system: handed in with a limit that has the signal come after two minutes, and over
# when no job is left. One that goes on by itself ends finished, another one stopped.
SUBMIT = """
sbatch --time=7 --output=job.log job.sh
for _ in $(seq 1200); do
  [ -n "$(squeue -h)" ] || break
  sleep 2
done
cat job.log
[ -z "$(squeue -h)" ]
grep '"status": *"%s"' out/run/summary.json
"""


class Machine:
    def __init__(self, machine, repository):
        self.machine, self.done, self.prepared = machine, set(), set()
        self.must('git config --global --add safe.directory "*"; git clone -q "file://%s" %s' % (repository, TREE), "/root")

    def must(self, body, folder=TREE):
        code, said = self.machine.run(body, LIMIT, folder)
        if code != 0:
            raise OSError("what a block needs ends with %d:\n%s\n%s" % (code, body, said[-3000:]))

    def prepare(self, body):
        for text in of(NEEDED, body):
            if text not in self.prepared:
                self.must(text)
                self.prepared.add(text)
        for text in of(READ, body):
            self.must(text)

    def run(self, body):
        """What is wrong, if anything."""
        if body in self.done:
            return None
        self.done.add(body)
        self.prepare(body)
        if "#SBATCH" in body:
            self.machine.write(TREE + "/job.sh", body.encode())
            body = SUBMIT % ("finished" if "--resume" in body else "stopped")
        begin = time.monotonic()
        for text in [body, *of(EXPECTED, body)]:
            code, said = self.machine.run(text, LIMIT, TREE)
            if code != 0:
                return "ends with %d:\n%s\n%s" % (code, text, said[-3000:])
        print("%6.0f s: %s" % (time.monotonic() - begin, body.strip().splitlines()[0]), flush=True)
        return None


def run_page(machine, page, name):
    for language, title, body, _, is_long in blocks.blocks(page.read_text(encoding="utf-8")):
        if title and language != "text":
            machine.machine.write("%s/%s" % (TREE, title), body.encode())
        elif is_long:
            wrong = machine.run(body)
            if wrong:
                return ["%s: %s" % (name, wrong)]
    return []


def run_all(repository, names):
    """All pages, or those whose names are given."""
    why = machine_copy.missing()
    if why:
        print("skipped: a copy of the machine needs %s" % why)
        sys.exit(NO_TEST)
    pages = [page for page in [repository / "README.md", *sorted((repository / "docs").rglob("*.md"))]
             if not names or page.name in names]
    if not pages:
        yield "no page is named %s" % " or ".join(names)
        return
    with tempfile.TemporaryDirectory(dir=repository / "build") as scratch, \
            machine_copy.machine_copy(scratch) as copy:
        machine = Machine(copy, repository)
        for page in pages:
            yield from run_page(machine, page, page.relative_to(repository))
