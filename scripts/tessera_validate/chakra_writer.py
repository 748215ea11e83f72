"""Writes Chakra execution traces: messages of proto3, each after its length (src/workload/chakra/chakra.proto)."""

import json

LOAD, STORE, COMPUTE, SEND, RECEIVE, COLLECTIVE = 2, 3, 4, 5, 6, 7
ALL_REDUCE, ALL_GATHER, ALL_TO_ALL, REDUCE_SCATTER = 0, 2, 6, 7


def _varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field_number(field, number):
    return _varint(field << 3) + _varint(number)


def field_bytes(field, data):
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _attribute(name, value):
    if isinstance(value, str):
        typed = field_bytes(29, value.encode())  # string_val
    elif isinstance(value, list):
        typed = field_bytes(14, field_bytes(1, b"".join(map(_varint, value))))  # uint64_list
    else:
        typed = field_number(13, value)  # uint64_val
    return field_bytes(10, field_bytes(1, name.encode()) + typed)


class Trace:
    """The graph of one NPU; nodes are named by the numbers that adding them gives."""

    def __init__(self):
        self._messages = [field_bytes(1, b"1.0.0")]
        self._nodes = 0

    def _add(self, name, kind, after, attributes):
        number, self._nodes = self._nodes, self._nodes + 1
        message = field_number(1, number) + field_bytes(2, name.encode()) + field_number(3, kind)
        after = [before for before in after if before is not None]
        if after:
            message += field_bytes(5, b"".join(map(_varint, after)))
        for key, value in attributes.items():
            message += _attribute(key, value)
        self._messages.append(message)
        return number

    def compute(self, name, flops, tensor_bytes, after):
        return self._add(name, COMPUTE, after, {"num_ops": flops, "tensor_size": tensor_bytes})

    def host(self, name, after):
        """Work of the processor of the host, without a time."""
        return self._add(name, COMPUTE, after, {"is_cpu_op": 1, "num_ops": 5})

    def access(self, name, kind, tensor_bytes, after, in_switch=False):
        """A load or a store of remote memory."""
        return self._add(name, kind, after, {"tensor_size": tensor_bytes, "tensor_loc": 1,
                                             "in_switch": int(in_switch)})

    def collective(self, name, kind, size, after, group=None):
        named = {} if group is None else {"pg_name": group}
        return self._add(name, COLLECTIVE, after, {"comm_type": kind, "comm_size": size, **named})

    def all_to_all(self, name, sizes, after):
        """An all-to-all with a size for each member."""
        return self._add(name, COLLECTIVE, after, {"comm_type": ALL_TO_ALL, "comm_sizes": sizes})

    def message(self, name, kind, peer, size, after):
        to = "comm_dst" if kind == SEND else "comm_src"
        return self._add(name, kind, after, {to: peer, "comm_size": size})

    def data(self):
        return b"".join(_varint(len(message)) + message for message in self._messages)


# Names of communicators in the trace of any NPU: of neighbours, and of those as far from each other.
NEAR, FAR = "mNNNN", "dNNNN"


def write_alike(folder, name, trace, npus, degree):
    """Traces of NPUs that do the same in groups of `degree` neighbours (NEAR), and among the members
    of one number in all those groups (FAR). What `workload` is in an experiment."""
    template, groups = trace.data(), {}
    for npu in range(npus):
        near, far = f"m{npu // degree:04}", f"d{npu % degree:04}"
        groups.setdefault(near, []).append(npu)
        groups.setdefault(far, []).append(npu)
        own = template.replace(NEAR.encode(), near.encode()).replace(FAR.encode(), far.encode())
        (folder / f"{name}.{npu}.et").write_bytes(own)
    (folder / f"{name}.json").write_text(json.dumps(groups), encoding="utf-8")
    return f"{{kind: chakra, traces: {folder / name}, groups: {folder / name}.json}}"
