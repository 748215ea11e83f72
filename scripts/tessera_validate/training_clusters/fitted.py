"""Which numbers of the GPUs' machine files were fitted, and to what: all of them, as the files' comments have it.

A number counts as fitted where its comment begins with `fitted:`, or names a script that fits or a table of profiles,
whatever it calls itself. `as above` stands for the source before it, `as KEY` for that of the key.
"""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from operators import attention
from operators.fit import FROM, LARGE
from operators.rows import KERNELS, LOOKUPS, PRODUCTS, VECTORS, measured
from page import ROOT
from training_clusters import nccl_fit, profiles
from training_clusters.clusters import DEEPSPEED
from training_clusters.library_fit import NETWORK, points_of

MACHINES = ROOT / "configs" / "machines"
FILES = {"A100": ("a100_server", "a100_cluster", "a100_cluster_4nic"),
         "H100": ("h100_server", "h100_servers", "h100_cluster"),
         "RTX PRO 6000": ("rtx_pro_6000",)}
LINE = re.compile(r"( *(?:- )?)(\w+): *([^#]*?) *(?:#\s*(.*))?$")
KINDS = ("measured", "derived", "assumed")
FITS = re.compile(r"\bfit(_\w+)?\.py|_fit\.py|profiles\.py")
SMALLEST = 4 << 20  # bytes, of the messages that nccl_fit.py takes


@dataclass(frozen=True)
class Number:
    path: str
    value: str
    source: str
    file: str = field(default="", compare=False)

    @property
    def key(self):
        return self.path.rpartition(".")[2]

    @property
    def kind(self):
        if self.source.startswith("fitted:") or FITS.search(self.source):
            return "fitted"
        word = self.source.partition(":")[0]
        return word if word in KINDS else "published"


def source_of(comment, before, known):
    """With the word of its kind, where it refers to another."""
    kind, _, rest = comment.partition(": ") if ":" in comment else ("", "", comment)
    word = rest.removeprefix("as ").split(";")[0].strip()
    if not rest.startswith("as ") or (word != "above" and word not in known):
        return comment
    other = before if word == "above" else known[word]
    own = other.partition(": ")
    return f"{kind}: {own[2] if own[0] in (*KINDS, 'fitted') else other}" if kind else other


def numbers_of(text, file=""):
    """[Number] of a machine file, in order."""
    found, path, before, above, known = [], [], "", [], {}
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            above.append(line.strip("# "))
            continue
        if above:
            before, above = " ".join(above), []
        match = LINE.match(line)
        if match is None:
            continue
        indent = len(match[1])
        path = [*(step for step in path if step[0] < indent), (indent, match[2])]
        if not re.match(r"[\d\[]", match[3]):
            continue
        source = source_of(match[4] or "", before, known)
        before = known[match[2]] = source
        found.append(Number(".".join(key for _, key in path), match[3], source, file))
    return found


def numbers_of_device(device):
    """Each number once, however many files state it, and links of one kind under whatever name."""
    found = {}
    for file in FILES[device]:
        for number in numbers_of((MACHINES / f"{file}.yaml").read_text(encoding="utf-8"), file):
            found.setdefault((number.key, number.value, number.source), number)
    return list(found.values())


def nccl_times(device, number):
    gpu = "a100_vtrain" if number.file == "a100_cluster_4nic" else device.lower()
    groups = nccl_fit.read_groups(SMALLEST)
    if "send" in number.source:
        return len(groups[gpu, "send_recv", 2, 1])
    return sum(len(rows) for (name, kind, workers, per_node), rows in groups.items()
               if (name, kind, per_node) == (gpu, "all_reduce", workers))


def operator_times(device, key):
    """Those that operators/fit.py looks at for a constant."""
    kernel = key.partition("_")[0]
    if kernel == "vector":
        return sum(each.tokens >= LARGE for each in measured(device, VECTORS))
    if kernel in KERNELS.values():
        return sum(KERNELS[each.operator] == kernel for each in measured(device, VECTORS + LOOKUPS))
    return sum(key != "sustained_clock" or each.us > FROM for each in measured(device, PRODUCTS))


def measurements(device, number):
    """What the fit of a number looks at: how many times were measured."""
    if "nccl_fit" in number.source:
        return nccl_times(device, number)
    if "fit_attention" in number.source:
        return len(attention.measured())
    if "operators/fit.py" in number.source:
        return operator_times(device, number.key)
    return 2  # of unaligned_efficiency: the difference of two profiles


def fitted_rows(device):
    """[what, numbers, which, measured times] with one row for each thing that numbers were fitted to."""
    groups = defaultdict(list)
    for number in numbers_of_device(device):
        if number.kind == "fitted":
            groups[number.source.partition(": ")[2] or number.source, measurements(device, number)].append(number)
    return [[device, source, len(numbers), ", ".join(f"`{number.path}` {number.value}" for number in numbers), count]
            for (source, count), numbers in groups.items()]


def beside_files():
    """Numbers that runs are given beside the machine files."""
    layers = len(profiles.cells_of(profiles.published()))
    groups = nccl_fit.read_groups(0)
    rows = [["A100", "the host of vTrain's software stack: means over profiles of host-bound layers and of heads "
             "(profiles.py), which are rows of vTrain's single-node table", len(DEEPSPEED),
             ", ".join(f"`{text}`" for text in DEEPSPEED), layers]]
    rows += [[gpu.upper(), "with `network.library: nccl` only: all-reduces in a server of all sizes (library_fit.py)",
              2, f"`collective_overhead` {overhead:g} us, `switch.bandwidth` {rate:g} GB/s", len(points_of(groups, gpu))]
             for gpu, (overhead, rate) in NETWORK.items()]
    return rows


def section(report):
    report.say("### Which numbers were fitted")
    report.say()
    report.say("All numbers in the machine files of GPUs, classified by their comments; each counts once for a device, "
               "however many files state it. *Fitted* are all numbers that a fitting script yields, even where the "
               "file says measured.")
    report.say()
    kinds = ("fitted", *KINDS, "published")
    table, total = [], 0
    for device, files in FILES.items():
        counts = Counter(number.kind for number in numbers_of_device(device))
        total += counts["fitted"]
        table.append([device, ", ".join(f"`{file}`" for file in files), sum(counts.values()), *(counts[kind] for kind in kinds)])
    report.table(["device", "files", "numbers", *kinds], table)
    rows = [row for device in FILES for row in fitted_rows(device)]
    others = beside_files()
    report.say(f"{total} numbers in the files are fitted, and {sum(row[2] for row in others)} outside the files (the "
               "last rows). The table shows what each was fitted to, and the number of measured times used:")
    report.say()
    report.table(["device", "fitted to", "numbers", "which", "times"], [*rows, *others])
