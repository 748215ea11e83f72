"""PALM's Table IV, training on GPUs: the paper, its public code as run, and ours."""

from page import percent, rows_of
from palm_code import code_figure, code_rows, say_whose
from training_clusters.clusters import Cluster, gpt
from training_clusters.plans import megatron_plan


def sections(report, program, folder, setting):
    report.say("## PALM's Table IV: training on GPUs")
    report.say()
    say_whose(report)
    report.say(
        "Ours: A100 servers (`configs/machines/a100_cluster.yaml`) with the parallelism degrees, the real "
        "micro-batches and virtual stages of Narayanan et al., SC'21, table 1, and full recomputation. "
        "Reference: sequences per second from that table's TFLOP/s by the paper's full formula; PALM's "
        "published column omits the factor 1 + s/6h + V/16lh (1.8 to 6.9 %). PALM's code is "
        "shown as shipped, with the micro-batch set to batch / stages, and with the real one. The bound "
        "on accuracy is in the part on real clusters; this part explains the differences: *at the "
        "peak* is ours with `--set machine.compute={model: roofline}`, and *PALM's micro-batch* is ours with "
        "its batch / stages in addition (and one chunk per stage). These are PALM's two assumptions, "
        "whose effects are opposite where a model has several stages.")
    report.say()
    code = code_rows("IV")
    cluster = Cluster(program, folder, "a100_cluster")
    too_fast, gains = [], []
    models = ("T-18B",) if setting.reduced else ("T-18B", "T-39B", "T-76B", "T-145B", "T-310B", "T-530B")
    rows = []
    for row in rows_of("megatron_sc21.csv"):
        if row["source"] != "SC21 Table1" or row["model"] not in models:
            continue
        model = row["model"]
        work = gpt(row["layers"], row["hidden"], row["heads"], row["seq"], row["batch"])
        plan = megatron_plan(row)
        peak = "machine.compute={model: roofline}"

        def rate(plan, *settings, model=model, work=work):
            return cluster.run(model, work, plan, settings)["throughput_samples_per_s"]

        ours = rate(plan)
        shipped = next(line for line in code if line["model"] == model
                       and line["variant"].startswith("HEAD beb5a3e"))
        # Nobody ran these: of T-18B they are 39 MB more than a device has.
        palms = {**plan, "chunks": 1, "capacity": "ignore",
                 "micro_batch": int(shipped["micro_batch_global"]) // int(row["dp"])}
        reference = float(row["seq_per_s_full_formula"])
        real = code_figure(code, model, "HEAD, real")
        at_peak = rate(plan, peak)
        too_fast.append(100 * (float(real) / reference - 1))
        gains.append(100 * (at_peak / ours - 1))
        rows.append([model, f"{ours:.2f}", f"{reference:.2f}", percent(ours, reference),
                     row["palm_paper_published_col"], row["palm_paper_palm_col"],
                     f"{float(shipped['palm_seq_s']):.2f}", f"{float(real):.2f}",
                     f"{at_peak:.2f}", f"{rate(palms, peak):.2f}"])
    report.table(["model", "ours [sequences/s]", "published, in full", "difference",
                  "published, PALM's column", "PALM, paper", "PALM, code",
                  "PALM, code, real micro-batch", "ours at the peak",
                  "ours at the peak, PALM's micro-batch"], rows)
    report.say(
        f"With the real micro-batches PALM's code is {min(too_fast):.0f} to {max(too_fast):.0f} % faster than "
        "published: it computes at the peak, which accounts for as much as ours gains there "
        f"({min(gains):.0f} to {max(gains):.0f} %), and its tensor all-reduce moves half of the bytes of PALM's own "
        "table III. Micro-batches of batch / stages compensate for that with a bubble that is nearly as long "
        "as the work: the agreement results from errors that cancel.")
    report.say()
