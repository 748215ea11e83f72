// Kinds of collectives: one list of them for programs, graphs, served models, traces and summaries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::collective {

// In the order of traces; what each does is said at Algorithm.
enum class Kind : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  broadcast,
  reduce,
  gather,
  scatter,
  barrier
};
inline constexpr std::size_t kinds = 9;

// "all_reduce", in traces, tables and messages.
std::string to_string(Kind kind);

// As files name them: "all-reduce" and so on. Last is "reduce-scatter-block", which MPI has for a
// reduce-scatter of equal parts: here every one is.
std::vector<std::string> kind_names();
// Of one of these names, also without hyphens or with underscores, as libraries write them
// ("allreduce"). Nothing for others.
std::optional<Kind> kind_named(std::string_view name);

// Broadcast, reduce, gather and scatter.
bool has_root(Kind kind);
// All-reduce, reduce-scatter and reduce.
bool adds_up(Kind kind);

}  // namespace tessera::collective
