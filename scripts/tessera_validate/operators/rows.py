"""Operators of a decoder layer as measured on single GPUs, and what the program makes of them."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from page import ROOT, rows_of

# Table of tests/validation/reference, machine file, type of data. Constants are fitted to all rows of a
# table; the other half of Llama-2-70B's is kept back.
DEVICES = {"A100": ("operators_a100.csv", "a100_server", "fp16"),
           "H100": ("operators_h100.csv", "h100_server", "fp16"),
           "RTX PRO 6000": ("operators_rtx_pro_6000.csv", "rtx_pro_6000", "bf16")}
# Hidden size, width of the MLP, and that of all queries, of all keys.
MODELS = {"7b": (4096, 11008, 4096, 4096), "70b": (8192, 28672, 8192, 1024), "8b": (4096, 14336, 4096, 1024)}
PRODUCTS = ("qkv", "attention_output", "mlp_up", "mlp_down")
HEADS = ("head_rtx_pro_6000.csv", 128256, "bf16")  # table, columns, type of data
VECTORS = ("norm", "activation", "rotary", "add")
LOOKUPS = ("embedding",)
UNFITTED = ("post_norm", "final_norm")  # vector kernels that no constant is fitted to
# Class of kernel of each, as plans have it (workload/operation.hpp), and the key of its share of the memory.
KERNELS = {"norm": "norm", "activation": "activation", "rotary": "rotary", "add": "sum", "post_norm": "norm",
           "final_norm": "norm", "embedding": "lookup"}
ELEMENT = 2  # bytes


@dataclass(frozen=True)
class Measured:
    row: dict
    operator: str
    us: float
    line: str  # of gemm_rates

    @property
    def tokens(self):
        return int(self.row["tokens"])

    @property
    def bytes(self):
        """Of an operator without a product."""
        return int(self.line.split()[1])


def product_line(operator, row, data_type):
    tokens, tensor = int(row["tokens"]), int(row["tensor"])
    hidden, ffn, queries, keys = MODELS[row["model"]]
    columns, depth = {
        "qkv": ((queries + 2 * keys) // tensor, hidden),
        "attention_output": (hidden, queries // tensor),
        "mlp_up": (2 * ffn // tensor, hidden),
        "mlp_down": (hidden, ffn // tensor),
    }[operator]
    return f"{tokens} {columns} {depth} {data_type}"


def vector_line(operator, row, data_type):
    """What the kernel reads and writes, each once. vLLM's norm adds the skip connection and keeps the sum
    where the table says so (model 8b)."""
    tokens, tensor = int(row["tokens"]), int(row["tensor"])
    hidden, ffn, queries, keys = MODELS[row["model"]]
    of_norms = (4 if row["model"] == "8b" else 2) * hidden
    elements = {
        "norm": of_norms, "post_norm": of_norms, "final_norm": of_norms,
        "activation": 3 * ffn // tensor,
        "rotary": 2 * (queries + keys) // tensor,
        "add": 3 * hidden,
        "embedding": 2 * hidden,
    }[operator]
    return f"vector {ELEMENT * tokens * elements} {data_type} {KERNELS[operator]} {ELEMENT * elements}"


def measured(device, operators):
    table, _, data_type = DEVICES[device]
    line_of = product_line if operators is PRODUCTS else vector_line
    return [Measured(row, operator, float(row[operator]), line_of(operator, row, data_type))
            for row in rows_of(table) for operator in operators if row.get(operator)]


def head_rows():
    table, columns, data_type = HEADS
    return [Measured(row, "head", float(row["head"]),
                     f"{row['tokens']} {columns // int(row['tensor'])} {MODELS[row['model']][0]} {data_type}")
            for row in rows_of(table)]


def times_us(program, device, measurements, settings=()):
    """Ours, by the machine file with these settings; what is measured are kernels, without the gaps between them."""
    tool = Path(program).resolve().parent / "tests" / "gemm_rates"
    machine = ROOT / "configs" / "machines" / f"{DEVICES[device][1]}.yaml"
    done = subprocess.run([tool, machine, "compute.kernel_gap=0 s", *settings], check=True, capture_output=True, text=True,
                          input="".join(f"{each.line}\n" for each in measurements))
    return [int(line) / 1e6 for line in done.stdout.split()]


@dataclass(frozen=True)
class Errors:
    """Of a set, relative."""
    values: tuple

    @property
    def absolute(self):
        return 100 * sum(abs(value) for value in self.values) / len(self.values)

    @property
    def bias(self):
        return 100 * sum(self.values) / len(self.values)

    @property
    def worst(self):
        return 100 * max(self.values, key=abs)

    def cells(self):
        return [len(self.values), f"{self.absolute:.1f} %", f"{self.bias:+.1f} %", f"{self.worst:+.0f} %"]


HEAD = ["rows", "mean absolute error", "mean error", "worst"]


def listed(words):
    """One, two and three."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def errors(pairs):
    """Of (measurement, ours)."""
    return Errors(tuple(ours / each.us - 1 for each, ours in pairs))
