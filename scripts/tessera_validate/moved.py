"""Where parts went that had other names: pages were once by the paper or the time that they came from."""

MOVED = {
    "first-slice": {"closed-forms": "collectives/closed-forms", "parameters": "training-clusters/parameters",
                    "digests": "ranks/shipped", "palm": "wafers/shipped", "full-wafer": "wafers/full-wafer"},
    "tiles": {"systolic": "npu/systolic", "dram": "dram/devices", "flit": "flit/routers", "npu": "npu/cores",
              "wafer": "wafers/detail"},
    "astra": {"reference": "collectives/backends", "tables": "collectives/topologies",
              "training": "training-clusters/systems", "memory": "remote-memory/pools",
              "nccl": "collectives/nccl", "speed": "collectives/speed"},
    "hcsim": {"flows": "flows/simgrid", "figures": "remote-memory/systems", "optimized": "remote-memory/ring",
              "models": "remote-memory/workload", "devices": "remote-memory/devices", "speed": "flows/speed"},
    "palm": {"clusters": "training-clusters/measured", "tiled": "wafers/tiled",
             "tables": "wafers/published and training-clusters/published", "speed": "wafers/speed"},
    "npu": {"serving": "serving/requests", "tenants": "serving/tenants"},
    "ranks": {"wafer_training": "ranks/wafer-training", "full_wafer": "ranks/full-wafer"},
    "engine": {"ranks": "ranks/threads", "policies": "ranks/policies", "digests": "ranks/partitions",
               "scale": "ranks/prediction"},
    "soak_onnx": {"files": "soak/damaged-files"},
}


def part_moved(page, part):
    """Where it went, in words; none if it never was there."""
    place = MOVED.get(page, {}).get(part)
    return place and f"part {part} of {page} is now {place}"


def page_moved(page):
    """The same of a page that is no more."""
    parts = MOVED.get(page)
    return parts and (f"pages are by subject, and {page} is no more: "
                      + ", ".join(f"{part} is now {place}" for part, place in parts.items()))


def told(name):
    """Of PAGE or PAGE/PART."""
    page, _, part = name.partition("/")
    return part_moved(page, part) if part else page_moved(page)
