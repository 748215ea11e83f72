"""Random services for random_runs.py: models of all kinds of layers, on tiles, cut and shared out at random."""


def model(draw):
    layers = draw.randint(1, 6)
    words = {"layers": layers, "hidden": 64, "heads": 8, "kv_heads": draw.choice([2, 4, 8]), "sequence": 2048,
             "vocabulary": 128, "normalisation": "rms_norm", "positions": "rotary", "biases": False,
             "mlp": draw.choice(["swiglu", "gelu"]), "attention": "flash", "causal": True,
             "tie_embeddings": draw.random() < 0.5}
    kinds = draw.choice([["attention"], ["attention"], ["local", "attention"], ["local"],
                         ["ssm-alone", "mlp-alone"], ["ssm-alone", "mlp-alone", "mlp-alone"],
                         ["ssm", "attention-alone", "local"]])
    if kinds != ["attention"]:
        words["pattern"] = kinds
    if "local" in kinds:
        words["window"] = draw.choice([20, 100])
    if any(kind.startswith("ssm") for kind in kinds):
        words["ssm"] = {"state": 8, "head_width": 16, "groups": draw.choice([1, 2]), "chunk": 16}
        if kinds[:2] == ["ssm-alone", "mlp-alone"]:
            for key in ("heads", "kv_heads", "attention", "causal"):
                del words[key]
            words["positions"] = "none"
    elif kinds == ["attention"] and draw.random() < 0.2:
        words["experts"] = {"count": 4, "top_k": 2}
    return words


def requests(draw):
    count = draw.randint(2, 16)
    words = {"prompt": [4, draw.choice([20, 300])], "generate": [1, draw.choice([2, 12])]}
    if draw.random() < 0.3:
        words["prefix"] = {"tokens": draw.choice([10, 64]), "count": 2}
    if draw.random() < 0.4:
        words.update(arrivals="closed", clients=draw.randint(1, 6), count=count)
        if draw.random() < 0.5:
            words["think"] = "100 us"
    else:
        words.update(arrivals=draw.choice(["poisson", "fixed"]), rate=draw.choice([500, 5000, 50000]), count=count)
    return words


def scaling(draw, replicas, prefill):
    words = {}
    if prefill < 2 or replicas - prefill > 1:
        words["requests"] = draw.randint(1, 4)
    if prefill > 1:
        words["prefill"] = {"requests": draw.randint(1, 3)}
    for key, times in (("start_up", ["20 us", "200 us"]), ("idle", ["30 us", "300 us"])):
        if draw.random() < 0.7:
            words[key] = draw.choice(times)
    return words


def tenant(draw, number):
    words = {"name": f"served{number}", "language_model": model(draw), "requests": requests(draw),
             "batching": {"chunk": draw.choice([32, 256])} if draw.random() < 0.7 else {}}
    if draw.random() < 0.5:
        words["batching"]["host"] = draw.choice(["2 us", "50 us"])
    if draw.random() < 0.3:
        words["batching"]["cache"] = draw.choice(["200 kB", "1 MB"])
    if draw.random() < 0.3:
        words["batching"]["order"] = "priority"
        words["classes"] = [{"name": "urgent", "priority": -1}, {"name": "patient", "priority": 1}]
    if draw.random() < 0.3:
        words["target"] = {"first_token": "300 us", "between_tokens": "100 us"}
    words["tensor"] = draw.choice([1, 1, 2, 4])
    words["pipeline"] = min(draw.choice([1, 1, 2, 4]), words["language_model"]["layers"])
    words["replicas"] = draw.choice([1, 1, 2, 3])
    if words["replicas"] > 1:
        words["router"] = draw.choice(["round-robin", "least-work", "prefix"])
        if draw.random() < 0.4:
            words["prefill"] = draw.choice([1, words["replicas"] - 1])
            words["handover"] = draw.choice(["whole", "layers"])
        if draw.random() < 0.4:
            words["scaling"] = scaling(draw, words["replicas"], words.get("prefill", 0))
    if not words["language_model"].keys() & {"ssm", "experts"} and draw.random() < 0.4:
        words["adapters"] = {"count": draw.choice([1, 3]), "rank": 4, "share": draw.choice([0.5, 1.0])}
    if draw.random() < 0.2:
        head = "word_embedding" if words["language_model"]["tie_embeddings"] else "lm_head"
        words["weights"] = {"type": draw.choice(["int8", "fp4"]), head: {"type": "fp6"}}
    if "experts" in words["language_model"] and draw.random() < 0.5:
        words.update(expert=draw.choice([2, 4]), tensor=1, pipeline=1)
    return words


def service_of(draw, machine):
    """An experiment of requests to one or two models on this machine."""
    machine["tile"]["operands"] = "dram"
    machine["dram"].update(at="each", capacity="64 MB")
    machine["dram"].pop("edges", None)
    machine["compute"] = draw.choice([
        {"model": "roofline"}, {"model": "gemm", "tiles": ["16x16"], "launch_overhead": "1 us"}])
    machine["memory"] = {"model": "channel"}
    tenants = [tenant(draw, number) for number in range(draw.choice([1, 1, 2]))]
    work = {"kind": "serving", "tenants": tenants,
            "all_reduce": draw.choice(["ring", "halving-doubling", "direct"])}
    if draw.random() < 0.2:
        work["steps"] = "whole"
    if draw.random() < 0.4:
        work["scheduler"] = {"policy": draw.choice(["time-sharing", "deadline"])}
    if draw.random() < 0.3:
        stream(draw, machine, work)
    return {"name": "random", "machine": machine, "workload": work, "run": {"trace": "none"}}


def stream(draw, machine, work):
    """Operands that tiles have no room for come from memory."""
    del machine["tile"]["operands"]
    machine["tile"]["sram"] = draw.choice(["4 kB", "40 kB"])
    machine["memory"] = draw.choice([
        {"model": "channel"}, {"model": "channel", "burst": "500 B", "max_bursts": 3},
        {"model": "channel", "arbitration": "fair"}, {"model": "bandwidth"}])
    if draw.random() < 0.5:
        # Where nothing is shared: see is_as_walked.
        work["steps"] = "whole"
        del work["tenants"][1:]
        machine["network"] = {"model": "analytical", "ports": "free"}
    elif draw.random() < 0.5 and machine["topology"]["kind"] != "cluster":
        machine["dram"].update(at="nodes", nodes=[0, 1])


def is_as_walked(words):
    """Whether its whole steps stream from memory, and take as long as walked ones."""
    machine, work = words["machine"], words["workload"]
    tenants = work["tenants"]
    return (work.get("steps") == "whole" and "operands" not in machine["tile"]
            and machine["dram"]["at"] == "each" and machine["network"] == {"model": "analytical", "ports": "free"}
            and len(tenants) == 1 and "prefill" not in tenants[0])
