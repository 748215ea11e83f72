"""The nodes of a cluster by what they are, and where to draw them: server, rail, leaf, spine.

Servers are columns, side by side in lines where they are many; in a line the rows are, from below, the
NICs by number, the switch inside the server, the accelerators by number (the rails), and over all of
them the leaves, each as wide as its servers. The spines are the topmost row. Nodes are numbered as in
include/tessera/machine/topology/cluster.hpp.
"""

import numpy as np

from . import resolved

_KEY = "machine.topology."
KINDS = ("accelerator", "switch", "NIC", "leaf", "spine")


class Cluster:
    def __init__(self, values):
        def number(key, default):
            return resolved.number(values, _KEY + key, default)
        self.servers, self.accelerators = number("nodes", 1), number("accelerators", 1)
        self.nics = number("nics", 1)
        # A fabric that is one switch is one leaf.
        self.leaf_servers = number("fabric.leaf_nodes", self.servers)
        self.rails = values.get(_KEY + "fabric.rail_optimized") == "true"
        self.spines = number("fabric.spines", 0)
        self.groups = -(-self.servers // self.leaf_servers)
        self.group_leaves = self.nics if self.rails else 1
        counts = (self.servers * self.accelerators, self.servers, self.servers * self.nics,
                  self.groups * self.group_leaves, self.spines)
        self.first = np.concatenate(([0], np.cumsum(counts)))

    def kind_of(self, nodes):
        return np.searchsorted(self.first, nodes, side="right") - 1

    def server_of(self, nodes):
        """-1 of leaves and spines."""
        kind = self.kind_of(nodes)
        index = nodes - self.first[kind]
        each = np.array([self.accelerators, 1, self.nics, 1, 1])[kind]
        return np.where(kind < 3, index // each, -1)

    def short_name_of(self, node):
        """Without its server."""
        kind = int(self.kind_of(node))
        if kind == 1:
            return KINDS[kind]
        each = (self.accelerators, 1, self.nics, self.first[-1], self.first[-1])[kind]
        return f"{KINDS[kind]} {int(node - self.first[kind]) % each}"

    def names_in_server(self):
        return [self.short_name_of(self.first[kind] + place) for kind, count in
                enumerate((self.accelerators, 1, self.nics)) for place in range(count)]

    def name_of(self, node):
        kind = int(self.kind_of(node))
        name = self.short_name_of(node)
        if kind == 3:
            group, rail = divmod(int(node - self.first[kind]), self.group_leaves)
            return f"{name} (servers {group * self.leaf_servers} …" + (f", rail {rail})" if self.rails else ")")
        return name if kind == 4 else f"server {int(self.server_of(node))} {name}"


def cluster_of(values, nodes):
    """The cluster of flattened keys; None where the machine is none, or its nodes are others."""
    if values.get(_KEY + "kind") != "cluster":
        return None
    cluster = Cluster(values)
    return cluster if cluster.first[-1] == nodes else None


class Layout:
    """Boxes [x, y, width, height] of all nodes, in columns of a server and rows from the top; and
    labels (x, y, text) of rows. `lines`: first server and y of each line of servers."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.rows = [cluster.group_leaves, cluster.accelerators, 1, cluster.nics]
        self.height = sum(self.rows) + 1.5
        # Twice as wide as high; lines of whole groups of leaves, where these are narrow enough.
        widest = max(16, int(np.sqrt(2 * cluster.servers * self.height)))
        across = min(cluster.servers, widest)
        if cluster.leaf_servers <= across:
            across -= across % cluster.leaf_servers
        self.across = max(1, -(-cluster.servers // -(-cluster.servers // across)))
        # Spines have a row of room above them, and so much below that labels do not meet.
        self.top = 4 if cluster.spines else 0
        self.boxes = self._boxes()
        self.lines = [(first, self.top + i * self.height)
                      for i, first in enumerate(range(0, cluster.servers, self.across))]
        self.size = (self.across, self.top + len(self.lines) * self.height - 1.5)

    def _place(self, server):
        return server % self.across, self.top + server // self.across * self.height

    def _boxes(self):
        cluster = self.cluster
        boxes = np.ones((cluster.first[-1], 4))
        nodes = np.arange(cluster.first[3])
        kind, server = cluster.kind_of(nodes), cluster.server_of(nodes)
        each = np.array([cluster.accelerators, 1, cluster.nics])[kind]
        boxes[:nodes.size, 0], line = self._place(server)
        begin = np.cumsum([0, *self.rows])[1:4]  # of accelerators, switch, NICs
        boxes[:nodes.size, 1] = line + begin[kind] + (nodes - cluster.first[kind]) % each
        leaves = np.arange(cluster.first[3], cluster.first[4]) - cluster.first[3]
        server = leaves // cluster.group_leaves * cluster.leaf_servers
        x, line = self._place(server)
        width = np.minimum(np.minimum(cluster.leaf_servers, cluster.servers - server),
                           self.across - x)
        boxes[cluster.first[3]:cluster.first[4]] = np.stack(
            (x, line + leaves % cluster.group_leaves, width, np.ones(leaves.size)), axis=1)
        if cluster.spines:
            wide = self.across / cluster.spines
            boxes[cluster.first[4]:] = np.stack(
                (np.arange(cluster.spines) * wide, np.ones(cluster.spines),
                 np.full(cluster.spines, wide), np.ones(cluster.spines)), axis=1)
        return boxes

    def labels(self):
        """What each band of rows is: (middle in y, text)."""
        words = [("leaves, by rail" if self.cluster.rails else "leaf"), "accelerators", "switch",
                 "NICs"]
        found = [(1.5, "spines")] if self.cluster.spines else []
        for first, y in self.lines:
            # A leaf wider than a line stands in the one where its servers begin.
            has_leaf = -first % self.cluster.leaf_servers < self.across
            for word, rows in zip(words, self.rows):
                if has_leaf or word != words[0]:
                    found.append((y + rows / 2, word))
                y += rows
        return found
