"""Memory of idle routers and tiles."""

from measured import measured

# Of an idle router and an idle tile, at most [B].
ROUTER_BYTES = 128
TILE_BYTES = 256


def idle(report, tools, setting):
    side = 100 if setting.reduced else 1000
    words = f"idle --side {side}"
    run = tools.bench.run(words)
    parts = ("router", "executor", "memory", "compute", "engine")
    each = {part: run[f"{part}_bytes_per_tile"] for part in parts}
    report.say("## Idle routers and tiles")
    report.say()
    report.say(f"Command: `build/release/tessera-bench {words}`: memory of the simulator's own packet network, "
               f"memory channels, roofline and executor on a mesh of {side}×{side} tiles, after a run in which "
               "one tile works. Parts are what their owners hold; *resident* is the growth of the "
               "process as counted by the operating system. Descriptions (topology, "
               "partition, roles of the nodes) are shared by all models of a rank.")
    report.say()
    together = sum(each.values())
    resident = run["resident_models_bytes_per_tile"]
    rows = [[f"{part}", f"{value:.1f}"] for part, value in each.items()]
    rows[0][1] = report.at_most(each["router"], ROUTER_BYTES, "idle router [B]")
    rows.append(["idle tile: all of these", report.at_most(together, TILE_BYTES, "idle tile [B]")])
    # Whole pages, and the process's own small changes, weigh on few tiles.
    rows.append(["the same, resident", f"{resident:.1f}" if setting.reduced else
                 report.at_most(resident, TILE_BYTES, "idle tile, resident [B]")])
    rows.append(["descriptions, resident", f"{run['resident_description_bytes_per_tile']:.1f}"])
    report.table(["part", "bytes a tile"], rows)


sections = measured(idle)
