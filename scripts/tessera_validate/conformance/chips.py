"""Operators on the cores of a chip, listed in the experiment and read from an ONNX model."""

from conformance.cases import Family, Rule, as_it_is, as_only_tenant
from onnx_writer import Model
from page import ROOT

MACHINES = ROOT / "configs" / "machines"


class Chain:
    """Operators one after the other, as a list and as a model."""

    def __init__(self, rows, width):
        self.rows, self.width, self.listed = rows, width, []
        self.model = Model()
        self.last = self.model.input("input", rows, width)

    def add(self, kind, node, inputs, listed, **attributes):
        name = f"{kind}{len(self.listed)}"
        self.listed.append({"name": name, "kind": kind, **listed})
        self.last = self.model.node(node, name, self.last, *inputs, **attributes)

    def product(self, outputs):
        weight = self.model.weight(f"w{len(self.listed)}", self.width, outputs)
        self.add("gemm", "MatMul", [weight], {"rows": self.rows, "columns": outputs, "depth": self.width})
        self.width = outputs

    def function(self, operation, node):
        self.add("elementwise", node, [], {"operation": operation, "elements": self.rows * self.width})

    def softmax(self):
        self.add("softmax", "Softmax", [], {"rows": self.rows, "columns": self.width}, axis=1)

    def transpose(self):
        self.add("transpose", "Transpose", [], {"rows": self.rows, "columns": self.width}, perm=[1, 0])
        self.rows, self.width = self.width, self.rows

    def written(self, path):
        self.model.output(self.last, self.rows, self.width)
        path.write_bytes(self.model.data())
        return path


def chain(draw):
    one = Chain(draw.choice([1, 32, 200]), draw.choice([64, 96, 200]))
    for _ in range(draw.randint(2, 6)):
        draw.choice([lambda: one.product(draw.choice([64, 128, 384])), lambda: one.product(128),
                     lambda: one.function("relu", "Relu"), lambda: one.function("sigmoid", "Sigmoid"),
                     one.softmax, one.transpose])()
    return one


def experiment(draw, folder):
    one = chain(draw)
    path = one.written(folder / f"model{draw.randrange(1 << 30)}.onnx")

    def from_model(family, given):
        given["workload"] = {"kind": "onnx", "model": str(path), "data_type": "fp16"}
        return family.run(given)
    return {"machine": str(MACHINES / draw.choice(["onnxim_server.yaml", "onnxim_mobile.yaml"])),
            "workload": {"kind": "operators", "data_type": "fp16", "operators": one.listed},
            "run": {"trace": "none", "iterations": draw.choice([1, 2])}}, \
        {"operators": as_it_is, "ONNX": from_model, "only tenant": as_only_tenant}


def sections(report, program, folder, setting):
    report.say("## Operators on a chip")
    report.say()
    family = Family(program, folder, "chips", [
        Rule("ONNX", "operators"), Rule("only tenant", "operators")])
    family.many(3 if setting.reduced else 24, lambda draw: experiment(draw, folder))
    family.report(report)
