#include <algorithm>

#include "astra/parts.hpp"
#include "numbers.hpp"
#include "source.hpp"
#include "tessera/core/text.hpp"

namespace tessera::migration::astra {
namespace {

constexpr double link_unit = 1073741824.0;  // 2^30 B/s
constexpr double ps_of_ns = 1000;

// Its building blocks, and ours.
const std::map<std::string, std::string>& blocks() {
  static const std::map<std::string, std::string> all{
      {"FullyConnected", "FC"}, {"Ring", "Ring"}, {"Switch", "Switch"}};
  return all;
}

std::vector<std::string> block_names() {
  std::vector<std::string> names;
  for (const auto& [theirs, ours] : blocks()) {
    names.push_back(theirs);
  }
  return names;
}

void check_length(std::string_view key, std::size_t length, std::size_t dimensions,
                  Source& source) {
  if (length != dimensions) {
    source.error(key, "expected a list with a number for each of the " +
                          std::to_string(dimensions) + " dimensions of 'topology'");
  }
}

// The engine needs a time that messages between two nodes take at least.
SimTime latency_of(double ns, std::size_t dimension, Source& source, Migrated& migrated) {
  const auto latency = time_of(ns, ps_of_ns);
  if (!latency) {
    source.error("latency", dimension, "expected nanoseconds, 0 or more");
  }
  if (!latency || *latency > SimTime::zero()) {
    return latency.value_or(SimTime::from_ps(1));
  }
  migrated.assumed.push_back("a latency of 1 ps where " + source.origin("latency") +
                             " has none: links without any are not possible here");
  return SimTime::from_ps(1);
}

NetworkDimension dimension_of(std::size_t number, std::int64_t npus, double rate, double ns,
                              Source& source, Migrated& migrated) {
  NetworkDimension dimension{npus, {}, latency_of(ns, number, source, migrated), ""};
  const auto bandwidth = bandwidth_of(rate, link_unit);
  if (!bandwidth) {
    source.error("bandwidth", number, "expected GB/s (of 2^30 B), more than 0");
  }
  dimension.bandwidth = bandwidth.value_or(Bandwidth::bytes_per_second(1));
  if (npus < 1) {
    source.error("npus_count", number, "must be at least 1");
  }
  dimension.origin = source.origin("bandwidth") + ": " + format_number(rate) + " GB/s of 2^30 B; " +
                     source.origin("latency") + ": " + format_number(ns) + " ns";
  return dimension;
}

}  // namespace

Network read_network(const std::string& path, Request& request, Migrated& migrated) {
  Network network;
  Source source(read_yaml(path, request, migrated), request, migrated);
  if (!request.diagnostics.empty()) {
    return network;
  }
  const auto names = source.list<std::string>("topology");
  const auto npus = source.list<std::int64_t>("npus_count");
  const auto rates = source.list<double>("bandwidth");
  const auto latencies = source.list<double>("latency");
  if (!request.diagnostics.empty()) {
    return network;
  }
  if (names.empty()) {
    source.error("topology", "expected a list of building blocks: " + join(block_names()));
  } else {
    check_length("npus_count", npus.size(), names.size(), source);
    check_length("bandwidth", rates.size(), names.size(), source);
    check_length("latency", latencies.size(), names.size(), source);
  }
  source.leave_rest();
  if (!request.diagnostics.empty()) {
    return network;
  }
  for (std::size_t n = 0; n < names.size(); ++n) {
    const auto block = blocks().find(names[n]);
    if (block == blocks().end()) {
      source.error("topology", n, unknown_name("building block", names[n], block_names()));
      continue;
    }
    network.shape += (n == 0 ? "" : "_") + block->second + "(" + std::to_string(npus[n]) + ")";
    network.dimensions.push_back(
        dimension_of(n, npus[n], rates[n], latencies[n], source, migrated));
  }
  return network;
}

std::vector<std::int64_t> read_logical_topology(const std::string& path, const Network& network,
                                                Request& request, Migrated& migrated) {
  Source source(read_json(path, request, migrated), request, migrated);
  std::int64_t npus = 1;
  for (const NetworkDimension& dimension : network.dimensions) {
    npus *= dimension.npus;
  }
  std::vector<std::int64_t> sizes;
  std::int64_t product = 1;
  // They stand there as texts.
  for (const std::string& text : source.list<std::string>("logical-dims")) {
    std::string problem;
    sizes.push_back(config::parse_as<std::int64_t>(text, problem).value_or(0));
    product = sizes.back() < 1 || product > npus ? 0 : product * sizes.back();
  }
  if (product != npus || sizes.empty()) {
    source.error("logical-dims", "expected a list of sizes whose product is the number of NPUs, " +
                                     std::to_string(npus));
  }
  source.leave_rest();
  return sizes;
}

}  // namespace tessera::migration::astra
