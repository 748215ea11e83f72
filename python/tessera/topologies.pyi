"""Topologies of machines: nodes and links.

Written by scripts/python_stubs.py from what the program declares; do not edit.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

from .sections import Section

ClusterSwitch = TypedDict("ClusterSwitch", {"bandwidth": str, "latency": str}, total=False)

ClusterNic = TypedDict("ClusterNic", {"bandwidth": str, "latency": str, "through_host": str}, total=False)

ClusterPort = TypedDict("ClusterPort", {"bandwidth": str, "latency": str}, total=False)

ClusterFabric = TypedDict("ClusterFabric", {"kind": Literal["fat-tree", "switch"], "leaf_nodes": int, "rail_optimized": bool, "spines": int, "bandwidth": str, "latency": str}, total=False)

ConcentratedMeshNode = TypedDict("ConcentratedMeshNode", {"bandwidth": str, "latency": str}, total=False)

DragonflyNode = TypedDict("DragonflyNode", {"bandwidth": str, "latency": str}, total=False)

DragonflyLocal = TypedDict("DragonflyLocal", {"bandwidth": str, "latency": str}, total=False)

DragonflyGlobalLinks = TypedDict("DragonflyGlobalLinks", {"bandwidth": str, "latency": str}, total=False)

FatTreeNode = TypedDict("FatTreeNode", {"bandwidth": str, "latency": str}, total=False)

FatTreeEdge = TypedDict("FatTreeEdge", {"bandwidth": str, "latency": str}, total=False)

FatTreeCore = TypedDict("FatTreeCore", {"bandwidth": str, "latency": str}, total=False)

GraphNodes = TypedDict("GraphNodes", {"count": int, "kind": Literal["tile", "switch", "memory"], "template": str | int | float, "type": Any, "capacity": Any, "of": str | int | float}, total=False)

GraphLinks = TypedDict("GraphLinks", {"from": str | int | float, "to": str | int | float, "type": str | int | float, "bandwidth": str, "latency": str, "reverse": Mapping[str, Any], "count": int, "join": Literal["all", "even"], "directions": Literal["both", "one"]}, total=False)

GraphLinkTypes = TypedDict("GraphLinkTypes", {"bandwidth": str, "latency": str, "reverse": Mapping[str, Any], "count": int}, total=False)

GraphWays = TypedDict("GraphWays", {"by": Literal["latency", "hops", "bandwidth"], "through": Literal["switches", "all"]}, total=False)

StackDimensions = TypedDict("StackDimensions", {"block": Literal["ring", "fully-connected", "switch"], "size": int, "bandwidth": str, "latency": str}, total=False)

WaferIntraTile = TypedDict("WaferIntraTile", {"bandwidth": str, "latency": str}, total=False)

WaferInterTile = TypedDict("WaferInterTile", {"bandwidth": str, "latency": str}, total=False)

class Topology(Section):
    """nodes and links"""

class Cluster(Topology):
    """Servers whose accelerators share a switch, with NICs on a two-level fat tree or on one switch."""

    nodes: int
    """servers; integer, 1 to 268435456"""
    accelerators: int
    """accelerators per server, which are the computing nodes; integer, 1 to 268435456"""
    nics: int
    """NICs per server, shared evenly by its accelerators; integer, 1 to 268435456"""
    switch: ClusterSwitch | None
    nic: ClusterNic | None
    port: ClusterPort | None
    fabric: ClusterFabric | None
    def __init__(
        self,
        *,
        nodes: int,
        accelerators: int,
        nics: int,
        switch: ClusterSwitch | None = ...,
        nic: ClusterNic | None = ...,
        port: ClusterPort | None = ...,
        fabric: ClusterFabric | None = ...,
    ) -> None: ...

class ConcentratedMesh(Topology):
    """Mesh of routers with several NPUs at each."""

    rows: int
    """routers from north to south; integer, 1 to 100000"""
    columns: int
    """routers from west to east; integer, 1 to 100000"""
    concentration: int
    """NPUs at each router; integer, 1 to 64"""
    bandwidth: str
    """bandwidth of one link in one direction, > 0; bandwidth, at least 1 B/s"""
    latency: str
    """time of a packet's head from node to node, > 0; time, at least 1 ps"""
    node: ConcentratedMeshNode | None
    def __init__(
        self,
        *,
        rows: int,
        columns: int,
        concentration: int,
        bandwidth: str,
        latency: str,
        node: ConcentratedMeshNode | None = ...,
    ) -> None: ...

class DoubleRing(Topology):
    """Two rings over the same NPUs; destinations are spread over both."""

    size: int
    """NPUs, 2 or more; integer, 1 to 268435456"""
    bandwidth: str
    """bandwidth of one link in one direction, > 0; bandwidth, at least 1 B/s"""
    latency: str
    """time of a packet's head from node to node, > 0; time, at least 1 ps"""
    def __init__(
        self,
        *,
        size: int,
        bandwidth: str,
        latency: str,
    ) -> None: ...

class Dragonfly(Topology):
    """Groups of routers, fully connected within each group and among groups."""

    groups: int
    """number of groups, at most routers * global + 1; integer, 1 to 268435456"""
    routers: int
    """routers per group, fully connected; integer, 1 to 268435456"""
    npus: int
    """NPUs per router; integer, 1 to 268435456"""
    global_: int
    """links of each router to other groups; integer, 1 to 268435456"""
    node: DragonflyNode | None
    local: DragonflyLocal | None
    global_links: DragonflyGlobalLinks | None
    def __init__(
        self,
        *,
        groups: int,
        routers: int,
        npus: int,
        global_: int,
        node: DragonflyNode | None = ...,
        local: DragonflyLocal | None = ...,
        global_links: DragonflyGlobalLinks | None = ...,
    ) -> None: ...

class FatTree(Topology):
    """Three levels of k-port switches, optionally oversubscribed at the edge."""

    k: int
    """ports per switch, even; k^3/4 NPUs without oversubscription; integer, 2 to 512"""
    oversubscription: int | None
    """ratio of an edge switch's NPUs to its uplinks; integer, 1 to 64; default: 1"""
    node: FatTreeNode | None
    edge: FatTreeEdge | None
    core: FatTreeCore | None
    def __init__(
        self,
        *,
        k: int,
        oversubscription: int | None = ...,
        node: FatTreeNode | None = ...,
        edge: FatTreeEdge | None = ...,
        core: FatTreeCore | None = ...,
    ) -> None: ...

class Graph(Topology):
    """Nodes and links listed in the file, with templates for repeated parts."""

    nodes: Mapping[str, GraphNodes] | Sequence[Any] | None
    templates: Mapping[str, Mapping[str, Any]] | Sequence[Any] | None
    links: Sequence[GraphLinks] | None
    link_types: Mapping[str, GraphLinkTypes | Mapping[str, Any]] | Sequence[Any] | None
    ways: GraphWays | None
    routes: Sequence[Any] | None
    """lists of nodes, each the route from its first node to its last node; list; default: null"""
    def __init__(
        self,
        *,
        nodes: Mapping[str, GraphNodes] | Sequence[Any] | None = ...,
        templates: Mapping[str, Mapping[str, Any]] | Sequence[Any] | None = ...,
        links: Sequence[GraphLinks] | None = ...,
        link_types: Mapping[str, GraphLinkTypes | Mapping[str, Any]] | Sequence[Any] | None = ...,
        ways: GraphWays | None = ...,
        routes: Sequence[Any] | None = ...,
    ) -> None: ...

class Hypercube(Topology):
    """NPUs whose numbers differ in one bit are neighbours."""

    dimensions: int
    """number of dimensions, 1 to 20; there are 2^dimensions NPUs; integer, 1 to 20"""
    bandwidth: str
    """bandwidth of one link in one direction, > 0; bandwidth, at least 1 B/s"""
    latency: str
    """time of a packet's head from node to node, > 0; time, at least 1 ps"""
    def __init__(
        self,
        *,
        dimensions: int,
        bandwidth: str,
        latency: str,
    ) -> None: ...

class Mesh(Topology):
    """Rectangle of tiles, each linked to its four neighbours."""

    rows: int
    """tiles from north to south; integer, at least 1"""
    columns: int
    """tiles from west to east; integer, at least 1"""
    bandwidth: str
    """bandwidth of one link in one direction, > 0; bandwidth, at least 1 B/s"""
    latency: str
    """time of a packet's head from node to node, > 0; time, at least 1 ps"""
    def __init__(
        self,
        *,
        rows: int,
        columns: int,
        bandwidth: str,
        latency: str,
    ) -> None: ...

class Stack(Topology):
    """Dimensions of rings, full meshes and switches, in ASTRA-sim's notation."""

    dimensions: Sequence[StackDimensions]
    """a list of dimensions from the innermost, each with the keys below; list"""
    shape: str | int | float | None
    """dimensions from the innermost, e.g. Ring(4)_FC(8)_Switch(4); text; default: none"""
    def __init__(
        self,
        *,
        dimensions: Sequence[StackDimensions],
        shape: str | int | float | None = ...,
    ) -> None: ...

class Torus(Topology):
    """Mesh whose rows and columns are closed into rings."""

    rows: int
    """tiles from north to south; integer, at least 1"""
    columns: int
    """tiles from west to east; integer, at least 1"""
    bandwidth: str
    """bandwidth of one link in one direction, > 0; bandwidth, at least 1 B/s"""
    latency: str
    """time of a packet's head from node to node, > 0; time, at least 1 ps"""
    def __init__(
        self,
        *,
        rows: int,
        columns: int,
        bandwidth: str,
        latency: str,
    ) -> None: ...

class TwistedTorus(Topology):
    """Torus whose columns are shifted where they wrap around."""

    rows: int
    """NPUs from north to south, 2 or more; integer, 1 to 268435456"""
    columns: int
    """NPUs from west to east, 2 or more; integer, 1 to 268435456"""
    twist: int
    """columns by which the wrap-around links of columns are shifted; 0: a torus; integer, 0 to 268435456"""
    bandwidth: str
    """bandwidth of one link in one direction, > 0; bandwidth, at least 1 B/s"""
    latency: str
    """time of a packet's head from node to node, > 0; time, at least 1 ps"""
    def __init__(
        self,
        *,
        rows: int,
        columns: int,
        twist: int,
        bandwidth: str,
        latency: str,
    ) -> None: ...

class Wafer(Topology):
    """Mesh of tiles, each of which is a mesh of cores; links between tiles are a class of their own."""

    tiles: Any
    """[rows, columns] of tiles; shape"""
    cores: Any
    """[rows, columns] of cores in a tile; shape"""
    intra_tile: WaferIntraTile | None
    inter_tile: WaferInterTile | None
    def __init__(
        self,
        *,
        tiles: Any,
        cores: Any,
        intra_tile: WaferIntraTile | None = ...,
        inter_tile: WaferInterTile | None = ...,
    ) -> None: ...
