#include "graphs/tensor_tables.hpp"

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/core/text.hpp"

namespace tessera::sim {
namespace {

using Placement = workload::TensorPlacement;

std::string type_of(const Placement& placement, std::uint32_t kind) {
  const std::string& type = placement.memories.kinds[kind].type;
  return type.empty() ? "NPUs" : type;
}

std::string capacity_text(Bytes capacity, const char* without) {
  return capacity == Bytes() ? without : to_short_string(capacity);
}

// Of more rows than a screen shows, the first and last.
std::string table_of(std::vector<std::string> head,
                     const std::vector<std::vector<std::string>>& rows) {
  constexpr std::size_t most_rows = 64;
  TextTable table(std::move(head));
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows.size() > most_rows && row == most_rows / 2) {
      table.add({"…"});
      row = rows.size() - most_rows / 2;
    }
    table.add(rows[row]);
  }
  return table.to_string();
}

// "64 h100, 32 v100".
std::string where(const Placement& placement, std::size_t tensor, Placement::Home home) {
  std::vector<std::uint64_t> counts(placement.memories.kinds.size());
  for (const Placement::Class& one : placement.classes) {
    counts[one.kind] += one.homes[tensor] == home ? one.npus : 0;
  }
  std::map<std::string, std::uint64_t> by_type;
  std::vector<std::string> order;
  for (std::uint32_t kind = 0; kind < counts.size(); ++kind) {
    if (counts[kind] > 0) {
      const auto [found, is_new] = by_type.try_emplace(type_of(placement, kind), 0);
      found->second += counts[kind];
      if (is_new) {
        order.push_back(found->first);
      }
    }
  }
  std::string text;
  for (const std::string& type : order) {
    text += (text.empty() ? "" : ", ") + std::to_string(by_type[type]) + " " + type;
  }
  return text.empty() ? "-" : text;
}

// Of tensors that follow each other and are at the same places, one row.
std::string homes_table(const Placement& placement) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t first = 0; first < placement.tensors.size();) {
    const std::string local = where(placement, first, Placement::Home::local);
    const std::string remote = where(placement, first, Placement::Home::remote);
    std::size_t end = first;
    Bytes bytes;
    do {
      bytes += placement.tensors[end].bytes;
      ++end;
    } while (end < placement.tensors.size() &&
             where(placement, end, Placement::Home::local) == local &&
             where(placement, end, Placement::Home::remote) == remote);
    const std::string last = placement.tensors[end - 1].name;
    rows.push_back({placement.tensors[first].name + (end == first + 1 ? "" : " … " + last),
                    std::to_string(end - first), to_short_string(bytes), local, remote});
    first = end;
  }
  return table_of({"tensors", "number", "bytes", "local at", "remote at"}, rows);
}

std::string npu_table(const Placement& placement) {
  std::map<std::tuple<std::uint32_t, std::string, std::string>, std::uint64_t> counts;
  for (const Placement::Class& one : placement.classes) {
    counts[{one.kind, to_short_string(one.local), to_short_string(one.remote)}] += one.npus;
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& [what, count] : counts) {
    const auto& [kind, local, remote] = what;
    rows.push_back({type_of(placement, kind), std::to_string(count),
                    capacity_text(placement.memories.kinds[kind].capacity, "not stated"), local,
                    remote});
  }
  return table_of({"NPUs", "number", "capacity", "local", "remote"}, rows);
}

// Alike ones are one row, by the name of the first.
std::string holder_table(const Placement& placement) {
  struct Row {
    std::string first;
    std::uint64_t number = 0;
  };
  std::map<std::pair<Bytes, Bytes>, Row> rows;
  for (std::size_t holder = 0; holder < placement.held.size(); ++holder) {
    const workload::NpuMemories::Holder& memory = placement.memories.holders[holder];
    Row& row = rows[{memory.capacity, placement.held[holder]}];
    row.first = row.number == 0 ? memory.name : row.first;
    ++row.number;
  }
  std::vector<std::vector<std::string>> texts;
  for (const auto& [what, row] : rows) {
    texts.push_back({row.first + (row.number > 1 ? ", …" : ""), std::to_string(row.number),
                     capacity_text(what.first, "unlimited"), to_short_string(what.second)});
  }
  return table_of({"memories", "number", "capacity", "held by each"}, texts);
}

}  // namespace

std::string tensor_tables(const workload::TensorPlacement& placement) {
  std::string text = "\n# tensors\n" + homes_table(placement) + "\n# own memory of one NPU\n" +
                     npu_table(placement);
  if (!placement.held.empty()) {
    text += "\n# memories of remote tensors\n" + holder_table(placement);
  }
  return text;
}

}  // namespace tessera::sim
