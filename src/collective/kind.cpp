#include "tessera/collective/kind.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "tessera/core/error.hpp"

namespace tessera::collective {
namespace {

struct Entry {
  Kind kind;
  const char* name;
};
// The first name of a kind is the one it goes by.
constexpr std::array<Entry, kinds + 1> entries{{{Kind::all_reduce, "all-reduce"},
                                                {Kind::reduce_scatter, "reduce-scatter"},
                                                {Kind::all_gather, "all-gather"},
                                                {Kind::all_to_all, "all-to-all"},
                                                {Kind::broadcast, "broadcast"},
                                                {Kind::reduce, "reduce"},
                                                {Kind::gather, "gather"},
                                                {Kind::scatter, "scatter"},
                                                {Kind::barrier, "barrier"},
                                                {Kind::reduce_scatter, "reduce-scatter-block"}}};

std::string letters_of(std::string_view name) {
  std::string letters;
  std::copy_if(name.begin(), name.end(), std::back_inserter(letters),
               [](char letter) { return letter != '-' && letter != '_'; });
  return letters;
}

}  // namespace

std::string to_string(Kind kind) {
  const auto* const found = std::find_if(entries.begin(), entries.end(),
                                         [kind](const Entry& entry) { return entry.kind == kind; });
  ensure(found != entries.end(), "a kind of collective outside its enumeration");
  std::string name = found->name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    names.emplace_back(entry.name);
  }
  return names;
}

std::optional<Kind> kind_named(std::string_view name) {
  const std::string letters = letters_of(name);
  for (const Entry& entry : entries) {
    if (letters_of(entry.name) == letters) {
      return entry.kind;
    }
  }
  return std::nullopt;
}

bool has_root(Kind kind) {
  return kind == Kind::broadcast || kind == Kind::reduce || kind == Kind::gather ||
         kind == Kind::scatter;
}

bool adds_up(Kind kind) {
  return kind == Kind::all_reduce || kind == Kind::reduce_scatter || kind == Kind::reduce;
}

}  // namespace tessera::collective
