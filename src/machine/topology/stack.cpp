#include "tessera/machine/topology/stack.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"

namespace tessera::machine {
namespace {

struct Notation {
  const char* name;  // as it is written
  const char* lower;
  Block block;
};
constexpr std::array<Notation, 6> notations = {
    {{"Ring", "ring", Block::ring},
     {"FC", "fc", Block::fully_connected},
     {"Switch", "switch", Block::switched},
     {"R", "r", Block::ring},
     {"FullyConnected", "fullyconnected", Block::fully_connected},
     {"SW", "sw", Block::switched}}};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::optional<StackDimension> parse_block(std::string_view text, std::string& problem) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || text.empty() || text.back() != ')') {
    problem = "'" + std::string(text) + "' is no dimension; write e.g. Ring(4)";
    return std::nullopt;
  }
  const std::string name = lower_case(text.substr(0, open));
  const auto known =
      std::ranges::find_if(notations, [&](const Notation& n) { return n.lower == name; });
  if (known == notations.end()) {
    problem = unknown_name("block", text.substr(0, open),
                           std::vector<std::string>{"Ring", "FC", "Switch"});
    return std::nullopt;
  }
  const std::string_view digits = text.substr(open + 1, text.size() - open - 2);
  std::uint32_t size = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
  if (error != std::errc() || end != digits.data() + digits.size() || size < 1) {
    problem = "'" + std::string(digits) + "' in '" + std::string(text) +
              "' is no size; it must be a number from 1 on";
    return std::nullopt;
  }
  return StackDimension{known->block, size};
}

}  // namespace

std::string to_string(Block block) {
  switch (block) {
    case Block::ring:
      return "ring";
    case Block::fully_connected:
      return "fully-connected";
    case Block::switched:
      return "switch";
  }
  throw InternalError("a block outside its enumeration");
}

std::optional<std::vector<StackDimension>> parse_stack(std::string_view text,
                                                       std::string& problem) {
  std::vector<StackDimension> dimensions;
  while (true) {
    const std::size_t end = std::min(text.find('_'), text.size());
    const auto dimension = parse_block(text.substr(0, end), problem);
    if (!dimension) {
      return std::nullopt;
    }
    dimensions.push_back(*dimension);
    if (end == text.size()) {
      return dimensions;
    }
    text.remove_prefix(end + 1);
  }
}

std::string to_string(const std::vector<StackDimension>& dimensions) {
  std::vector<std::string> words;
  for (const StackDimension& dimension : dimensions) {
    const auto notation = std::ranges::find_if(
        notations, [&](const Notation& n) { return n.block == dimension.block; });
    words.push_back(std::string(notation->name) + "(" + std::to_string(dimension.size) + ")");
  }
  return join(words, "_");
}

Stack::Stack(std::vector<StackDimension> dimensions) : dimensions_(std::move(dimensions)) {
  ensure(!dimensions_.empty(), "a stack of nothing");
  for (const StackDimension& dimension : dimensions_) {
    strides_.push_back(npus_);
    npus_ *= dimension.size;
  }
  first_switch_.push_back(npus_);
  first_port_.push_back(0);
  for (std::uint32_t d = 0; d < dimensions_.size(); ++d) {
    const bool has_switches = dimensions_[d].block == Block::switched && size(d) > 1;
    first_switch_.push_back(first_switch_.back() + (has_switches ? npus_ / size(d) : 0));
    first_port_.push_back(first_port_.back() + ports(d));
  }
}

unsigned Stack::ports(std::uint32_t dimension) const {
  const auto [block, size] = dimensions_[dimension];
  switch (block) {
    case Block::ring:
      return std::min(size - 1, 2U);
    case Block::fully_connected:
      return size - 1;
    default:
      return size > 1 ? 1 : 0;
  }
}

StackPlace Stack::place(EntityId node) const {
  if (node.value() < npus_) {
    return {true, 0, node.value()};
  }
  const auto after = std::upper_bound(first_switch_.begin(), first_switch_.end(), node.value());
  const auto dimension = static_cast<std::uint32_t>(after - first_switch_.begin() - 1);
  return {false, dimension, node.value() - first_switch_[dimension]};
}

unsigned StackRouting::step(std::uint32_t dimension, std::uint32_t from, std::uint32_t to) const {
  const std::uint32_t size = stack_.size(dimension);
  const std::uint32_t upward = to > from ? to - from : to + size - from;
  const unsigned first = stack_.first_port(dimension);
  switch (stack_.dimensions()[dimension].block) {
    case Block::ring:
      return upward <= size - upward ? first : first + 1;
    case Block::fully_connected:
      return first + upward - 1;
    default:
      return first;
  }
}

unsigned StackRouting::next_port(EntityId here, EntityId target) const {
  const StackPlace at = stack_.place(here);
  const StackPlace to = stack_.place(target);
  const std::uint32_t npu = to.is_npu ? to.index : stack_.member(to, 0);
  if (!at.is_npu) {
    return stack_.coordinate(npu, at.dimension);
  }
  const auto dimensions = static_cast<std::uint32_t>(stack_.dimensions().size());
  for (std::uint32_t d = 0; d < dimensions; ++d) {
    const std::uint32_t from = stack_.coordinate(at.index, d);
    const std::uint32_t wanted = stack_.coordinate(npu, d);
    if (from != wanted && (to.is_npu || d != to.dimension)) {
      return step(d, from, wanted);
    }
  }
  return stack_.first_port(to.dimension);  // to the switch of this dimension
}

}  // namespace tessera::machine
