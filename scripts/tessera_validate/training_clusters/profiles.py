"""What vTrain's table of one node consists of: times of a layer and of a head, added up.

Without stages a row is n micro-batches of L layers. If T is its time, (T(n) - T(n')) / (n - n') is what a micro-batch
takes, and the difference of that between two depths what a layer takes. Measured iterations would scatter; these do
not, to the nanosecond.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations

from page import rows_of
from training_clusters.clusters import run_profiled

TABLE = "vtrain_single.csv"
WIDTH, TENSOR, MICRO = "hidden size", "tensor parallelism", "micro batch"
DEPTHS, COUNTS = (12, 24), (4, 8)  # ours: layers, micro-batches
BOUND_BY_HOST = 1.35  # so many times as long as the device alone takes


@dataclass(frozen=True)
class Cell:
    """Of a width, tensor degree and micro-batch [ms]."""
    width: int
    tensor: int
    micro: int
    layer: float
    head: float  # all that a micro-batch takes beside its layers


def number(row, key):
    return int(row[key])


def micro_batches(row):
    return number(row, "global batch") // (number(row, MICRO) * number(row, "data parallelism"))


def by_key(row):
    return number(row, WIDTH), number(row, TENSOR), number(row, MICRO)


def slopes_of(times):
    """{(width, tensor, micro-batch): {layers: [ms of a micro-batch, one of each pair of rows]}}, of (row, ms)."""
    groups = defaultdict(dict)
    for row, time in times:
        if number(row, "pipeline parallelism") == 1:
            group = (*by_key(row), number(row, "# layers"), number(row, "data parallelism"))
            groups[group][micro_batches(row)] = time
    slopes = defaultdict(lambda: defaultdict(list))
    for (*key, layers, _), by_count in groups.items():
        for few, many in combinations(sorted(by_count), 2):
            slopes[tuple(key)][layers].append((by_count[many] - by_count[few]) / (many - few))
    return slopes


def cells_of(times):
    """[Cell] where two depths are known."""
    cells = []
    for key, by_layers in sorted(slopes_of(times).items()):
        if len(by_layers) > 1:
            few, many = min(by_layers), max(by_layers)
            layer = (by_layers[many][0] - by_layers[few][0]) / (many - few)
            cells.append(Cell(*key, layer, by_layers[few][0] - few * layer))
    return cells


def scatter(times):
    """How many slopes there are, and by how many ns the farthest is off the line of its cell."""
    slopes, lines = slopes_of(times), {(cell.width, cell.tensor, cell.micro): cell for cell in cells_of(times)}
    off = [abs(slope - lines[key].head - layers * lines[key].layer)
           for key, by_layers in slopes.items() if key in lines
           for layers, found in by_layers.items() for slope in found]
    return len(off), 1e6 * max(off)


def published():
    return [(row, float(row["iteration time (ms)"])) for row in rows_of(TABLE)]


def ours(cluster, cells, settings=()):
    """The same cells by simulated iterations."""
    rows = [{"pipeline parallelism": "1", "data parallelism": "1", TENSOR: str(cell.tensor), MICRO: str(cell.micro),
             "# layers": str(layers), WIDTH: str(cell.width), "attention heads": "16", "sequence length": "1024",
             "global batch": str(count * cell.micro), "iteration time (ms)": "1"}
            for cell in cells for layers in DEPTHS for count in COUNTS]
    return cells_of([(row, time) for row, time, _ in run_profiled(cluster, rows, settings)])


def host_times(cluster, cells):
    """[us an operation of a layer] of profiles that the host bounds, and [ms a pass] of all heads: what is left of the
    published times beside what the model gives to operations, to collectives and to the device."""
    def with_issue(microseconds):
        return ours(cluster, cells, (f"machine.compute.issue={microseconds} us", "machine.compute.issue_pass=0 us"))

    device, host, longer = with_issue(0.001), with_issue(80), with_issue(90)
    operations, passes = [], []
    for cell, alone, issued, more in zip(cells, device, host, longer):
        if issued.layer > BOUND_BY_HOST * alone.layer:
            count = (more.layer - issued.layer) / 0.010
            operations.append(80 + 1e3 * (cell.layer - issued.layer) / count)
        passes.append((cell.head - issued.head) / 2)  # forward and backward
    return operations, passes
