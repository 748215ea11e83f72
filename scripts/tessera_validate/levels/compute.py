"""Products at every level of compute."""

from levels.cases import Family, Rule, transformer


def compute(**keys):
    def change(experiment):
        experiment["machine"]["compute"] = keys
    return change


def experiment(draw):
    rows, columns = draw.choice([8, 16]), draw.choice([8, 16])
    array = {"array": [rows, columns], "clock": "1 GHz", "vector_peak": "100 GFLOP/s"}
    peak = 2 * rows * columns
    work = {**transformer(draw), "hidden": 64, "sequence": 16, "batch": 8, "layers": 2}
    return {"machine": {"topology": {"kind": "mesh", "rows": 2, "columns": 2, "bandwidth": "100 GB/s",
                                     "latency": "10 ns"},
                        "tile": {"peak": {"fp16": f"{peak} GFLOP/s"}, "sram": "64 MiB"}},
            "workload": work,
            "strategy": draw.choice([{"pipeline": 2, "tensor": 2}, {"data": 4}, {"tensor": 4},
                                     {"pipeline": 2, "data": 2}])}, \
        {"roofline": compute(model="roofline"), "gemm": compute(model="gemm", array=[rows, columns]),
         "systolic": compute(model="systolic", **array), "stepped": compute(model="systolic-cycle", **array)}


def sections(report, program, folder, setting):
    report.say("## Compute")
    report.say()
    family = Family(program, folder, "compute", [
        Rule("stepped", "systolic", why="the closed form equals the array stepped unit by unit"),
        Rule("gemm", "roofline", 1.8, 3.3, "small products: tiles of the default size are not full, the array fills "
                                           "and drains, and each product has a launch"),
        Rule("systolic", "roofline", 1, 1.5, "filling and draining the array, and idle units, for sides of 16 "
                                             "to 64 on arrays of 8 and 16")])
    family.many(3 if setting.reduced else 40, experiment)
    family.report(report)
