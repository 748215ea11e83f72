"""Plans of Megatron-LM's published runs and of Llama 3's."""

from page import ROOT
from training_clusters.clusters import PERSISTENT_NORMS, PLAIN_NORMS, strategy

LLAMA = ROOT / "workloads" / "llama3_405b.yaml"
# (name, replicas, parts of the context, tokens a sample, samples, TFLOP/s a GPU):
# arXiv:2407.21783, table 4.
LLAMA_ROWS = [("8192 GPUs", 64, 1, 8192, 2048, 430),
              ("16384 GPUs", 128, 1, 8192, 2048, 400),
              ("16384 GPUs, 131072 tokens", 8, 16, 131072, 128, 380)]


def megatron_plan(row):
    more = {"recompute": row["recompute"].split(" ")[0]}
    # Table 5's 175 and 530 billion ran with three chunks a stage (the file's note).
    chunks = 3 if "Table5" in row["source"] and row["params_billion"] in ("175B", "530B") \
        else int(row["interleave_chunks_v"] or 1)
    if chunks > 1:
        more["chunks"] = chunks
    if "Table5" in row["source"]:
        # Of 2022: Megatron-LM sums gradients of inputs while those of weights are computed
        # (tensor_parallel/layers.py: LinearWithGradAccumulationAndAsyncAllreduce); SC'21 is older.
        more["overlap_tensor"] = True
    if "SP" in row["scheme"]:
        more["sequence_parallel"] = True
    elif int(row["tp"]) > 1:
        more["boundary"] = "scattered"  # arXiv:2104.04473, section 4.1
    return strategy(row["pp"], row["tp"], row["dp"], row["micro_batch_per_replica"], **more)


def megatron_norms(row):
    return PERSISTENT_NORMS if "Table5" in row["source"] else PLAIN_NORMS  # of 2022 and of 2021


def llama_plan(replicas, parts):
    """Section 3.3.2: eight chunks of one layer a stage; sequence parallel; optimizer states and gradients are shared out,
    and weights are not gathered again for backward passes. That gradients are scattered by runs of micro-batches follows
    from the published rates. By ours the run on 8192 GPUs does not fit (the page's part on memory says by how much)."""
    more = {"capacity": "ignore"} if replicas == 64 else {}
    return strategy(16, 8, replicas, 1, context=parts, sequence_parallel=True, chunks=8, zero=2, scatter="run",
                    overlap_gradients=True, **more)
