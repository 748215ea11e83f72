"""A copy of this machine that is thrown away: an overlay over its files, with processes of its own.

What is written in it (packages that are installed, trees that are built) lies in a sparse image and goes
with it. The network is the machine's. Needs root, loop devices and overlays; `missing` says what is not there.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

SIZE = 40 << 30  # [B] what can be written; nothing is taken before
TOOLS = ("unshare", "nsenter", "mkfs.ext4", "mount", "chroot")
# Runs until its input ends, as the first process of the copy: with it all others end.
FIRST = """
set -e
mount --make-rprivate /
mount -o loop "$0/image" "$0/disk"
mkdir "$0/disk/upper" "$0/disk/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$0/disk/upper,workdir=$0/disk/work" "$0/root"
mount -t proc proc "$0/root/proc"
mount --rbind /dev "$0/root/dev"
mount -t sysfs sysfs "$0/root/sys"
mount -t cgroup2 cgroup2 "$0/root/sys/fs/cgroup"  # containers know no mixture with the first version
mkdir -m 1777 "$0/disk/tmp"  # others go on writing in that of this machine
mount --bind "$0/disk/tmp" "$0/root/tmp"
touch "$0/ready"
read -r _ || true
"""


def missing():
    if os.geteuid() != 0:
        return "root"
    return next((tool for tool in TOOLS if not shutil.which(tool)), None)


class MachineCopy:
    def __init__(self, root, first):
        self.root, self.first = root, first

    def run(self, body, timeout, folder="/root"):
        """Exit code, and what it printed; a shell as after a login."""
        begin = 'cd -- "$1"; set -euo pipefail; '
        words = ["nsenter", "--mount", "--pid", "--target", str(self.first), "chroot", self.root, "env", "-i",
                 "HOME=/root", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", "USER=root", "TERM=dumb",
                 "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                 "OMPI_MCA_rmaps_base_oversubscribe=1", "bash", "-l", "-c", begin + body, "block", folder]
        with tempfile.TemporaryFile() as said:  # a pipe would be held open by what goes on in the background
            done = subprocess.run(words, check=False, timeout=timeout, stdin=subprocess.DEVNULL, stdout=said,
                                  stderr=subprocess.STDOUT)
            said.seek(0)
            return done.returncode, said.read().decode(errors="replace")

    def write(self, path, data):
        """Of a file of the copy, from its root on."""
        code, said = self.run('mkdir -p -- "$(dirname -- "%s")"' % path, 60)
        if code != 0:
            raise OSError(said)
        words = ["nsenter", "--mount", "--pid", "--target", str(self.first), "tee", "%s%s" % (self.root, path)]
        subprocess.run(words, check=True, input=data, stdout=subprocess.DEVNULL)


def child_of(process):
    """The first process of the copy, which `unshare` has forked."""
    with open("/proc/%d/task/%d/children" % (process.pid, process.pid), encoding="ascii") as file:
        return int(file.read().split()[0])


@contextlib.contextmanager
def machine_copy(beside):
    """In a folder of the file system that `beside` is on, which has to have space."""
    with tempfile.TemporaryDirectory(dir=beside, prefix="machine-") as scratch:
        folder = pathlib.Path(scratch)
        for name in ("disk", "root"):
            (folder / name).mkdir()
        with open(folder / "image", "wb") as image:
            image.truncate(SIZE)
        subprocess.run(["mkfs.ext4", "-q", folder / "image"], check=True)
        with subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", FIRST,
                               folder], stdin=subprocess.PIPE, start_new_session=True) as process:
            try:
                while not (folder / "ready").exists():
                    if process.poll() is not None:
                        raise OSError("no copy of the machine could be made")
                    time.sleep(0.05)
                yield MachineCopy(str(folder / "root"), child_of(process))
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
