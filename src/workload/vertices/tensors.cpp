#include "vertices/tensors.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "tessera/config/key.hpp"
#include "vertices/tensor_placement.hpp"

namespace tessera::workload {

using config::Section;
using config::Value;

namespace {

// Made when asked for, as the workload registers before this file's own objects are there.
struct TensorKeys {
  config::OtherKey tensors{"tensors", "list", "none",
                           "tensors that vertices can use, each a mapping"};
  config::RequiredKey<std::string> name{"tensors[].name", "name of the tensor, unique"};
  config::RequiredKey<Bytes> bytes{"tensors[].bytes", "size of the tensor"};
  config::Key<std::int64_t> priority{"tensors[].priority", 0,
                                     "tensors of higher priority are placed in memory first",
                                     config::between<std::int64_t>(-1'000'000'000, 1'000'000'000)};
  config::OtherKey at{
      "tensors[].at", "list of NPUs", "all",
      "NPUs that have the tensor, written as for vertices; each has a copy of its own"};
  config::OptionalKey<Bytes> local_capacity{
      "local_capacity", "unlimited",
      "capacity for tensors of the NPUs' own memory, where the machine does not state it",
      config::at_least(Bytes(1))};
};

const TensorKeys& tensor_keys() {
  static const TensorKeys made;
  return made;
}

}  // namespace

std::vector<ParameterInfo> tensor_parameters() {
  return {tensor_keys().tensors,  tensor_keys().name, tensor_keys().bytes,
          tensor_keys().priority, tensor_keys().at,   tensor_keys().local_capacity};
}

VertexTensors::VertexTensors(Section& section, const GraphRequest& request)
    : sections_(section.sections(tensor_keys().tensors.key())) {
  if (sections_.empty()) {
    if (section.has("local_capacity")) {
      section.raw("local_capacity");
      section.error("local_capacity", "without tensors there is nothing to hold");
    }
    return;
  }
  if (request.memories) {
    placement_.memories = request.memories();
  } else {
    placement_.memories.kinds.emplace_back();
    placement_.memories.kind_of.assign(request.npus, 0);
  }
  state_capacity(section);
  for (Section& one : sections_) {
    Tensor tensor;
    tensor.name = tensor_keys().name.read(one);
    tensor.bytes = tensor_keys().bytes.read(one);
    tensor.priority = tensor_keys().priority.read(one);
    read_places(one, "at", request.npus, tensor.everywhere, tensor.places);
    tensor.everywhere = tensor.everywhere || tensor.places.size() == request.npus;
    good_ = good_ && (tensor.everywhere || !tensor.places.empty());
    const auto number = static_cast<std::uint32_t>(placement_.tensors.size());
    if (!numbers_.emplace(tensor.name, number).second) {
      one.error("name", "tensor '" + tensor.name + "' is there twice");
      good_ = false;
    }
    placement_.tensors.push_back(std::move(tensor));
  }
  first_use_.assign(sections_.size(), std::numeric_limits<std::uint32_t>::max());
}

// For NPUs of whose own memory the machine says nothing.
void VertexTensors::state_capacity(Section& section) {
  const auto given = tensor_keys().local_capacity.read(section);
  if (!given) {
    return;
  }
  bool needed = false;
  for (NpuMemories::Kind& kind : placement_.memories.kinds) {
    if (kind.capacity == Bytes()) {
      kind.capacity = *given;
      needed = true;
    }
  }
  if (!needed) {
    section.error("local_capacity",
                  "the machine says the capacity of all NPUs' own memory (machine.dram.capacity)");
  }
}

std::optional<TensorUse> VertexTensors::read_use(Section& section, const Value& item) const {
  const Value* name = item.kind == Value::Kind::scalar ? &item : nullptr;
  std::map<std::string, std::optional<Bytes>> sizes{{"bytes", {}}, {"written", {}}};
  for (const Value::Member& member : item.members) {
    const auto size = sizes.find(member.key);
    const bool is_name = member.key == "tensor";
    if (member.value.kind != Value::Kind::scalar || (!is_name && size == sizes.end())) {
      name = nullptr;
      break;
    }
    if (is_name) {
      name = &member.value;
      continue;
    }
    std::string problem;
    size->second = config::parse_as<Bytes>(member.value.text, problem);
    if (!size->second) {
      section.error("uses", member.value, problem);
      return std::nullopt;
    }
  }
  if (name == nullptr) {
    section.error("uses", item, "must be names of tensors, or {tensor, bytes, written}");
    return std::nullopt;
  }
  const auto found = numbers_.find(name->text);
  if (found == numbers_.end()) {
    section.error("uses", *name, "there is no tensor '" + name->text + "'");
    return std::nullopt;
  }
  const Bytes bytes = sizes["bytes"].value_or(placement_.tensors[found->second].bytes);
  const Bytes written = sizes["written"].value_or(Bytes());
  if (written > bytes) {
    section.error("uses", item, "written is more than bytes, " + to_string(bytes));
    return std::nullopt;
  }
  return TensorUse{found->second, bytes, written};
}

void VertexTensors::read_uses(Section& section, Vertex& vertex) {
  const std::uint32_t order = vertices_++;
  const Value value = section.raw("uses");
  if (value.kind == Value::Kind::null) {
    return;
  }
  if (value.kind != Value::Kind::sequence) {
    section.error("uses", value, "must be a list");
    good_ = false;
    return;
  }
  for (const Value& item : value.items) {
    const auto use = read_use(section, item);
    if (!use) {
      good_ = false;
      continue;
    }
    const Tensor& tensor = placement_.tensors[use->tensor];
    if (!tensor.everywhere &&
        (vertex.everywhere || !std::includes(tensor.places.begin(), tensor.places.end(),
                                             vertex.places.begin(), vertex.places.end()))) {
      section.error("uses", item, "tensor '" + tensor.name + "' is not at all NPUs of the vertex");
      good_ = false;
      continue;
    }
    vertex.uses.push_back(*use);
    vertex.bytes += use->bytes;
    first_use_[use->tensor] = std::min(first_use_[use->tensor], order);
  }
}

std::optional<TensorPlacement> VertexTensors::place() {
  if (sections_.empty() || !good_) {
    return std::nullopt;
  }
  std::uint32_t culprit = 0;
  const std::string problem = place_tensors(first_use_, placement_, culprit);
  if (!problem.empty()) {
    sections_[culprit].error("", problem);
    return std::nullopt;
  }
  return std::move(placement_);
}

void note_remote(const TensorPlacement& placement, VertexGraph& graph) {
  // Classes that differ in what nobody accesses, or does elsewhere, are one for the graph.
  std::map<std::vector<RemoteBytes>, std::uint32_t> numbers;
  std::vector<std::uint32_t> row_of;
  for (const TensorPlacement::Class& own : placement.classes) {
    std::vector<RemoteBytes> remote;
    remote.reserve(graph.vertices.size());
    for (const Vertex& vertex : graph.vertices) {
      RemoteBytes sum = vertex.remote;
      for (const TensorUse& use : vertex.uses) {
        if (own.homes[use.tensor] == TensorPlacement::Home::remote) {
          sum.read += use.bytes - use.written;
          sum.written += use.written;
        }
      }
      remote.push_back(sum);
    }
    const auto [found, is_new] = numbers.try_emplace(std::move(remote), graph.remote.size());
    if (is_new) {
      graph.remote.push_back(found->first);
    }
    row_of.push_back(found->second);
  }
  graph.remote_row.reserve(placement.class_of.size());
  for (const std::uint32_t number : placement.class_of) {
    graph.remote_row.push_back(row_of[number]);
  }
}

}  // namespace tessera::workload
