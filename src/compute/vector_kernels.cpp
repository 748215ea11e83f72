#include "vector_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "operation_time.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/wide.hpp"

namespace tessera::compute {
namespace {

constexpr Fraction least = Fraction::millionths(1);

// The keys of a class.
struct Keys {
  config::DerivedKey<Fraction> memory_efficiency;
  config::DerivedKey<Bandwidth> cache_bandwidth;
  config::DerivedKey<SimTime> launch_overhead;
  config::DerivedKey<Bandwidth> row_bandwidth;

  VectorKernel read(config::Section& section, const VectorKernel& usual) const {
    return {memory_efficiency.read(section, usual.memory_efficiency),
            cache_bandwidth.read(section, usual.cache_bandwidth),
            launch_overhead.read(section, usual.launch_overhead),
            row_bandwidth.read(section, usual.row_bandwidth)};
  }
};

Keys keys_of(const std::string& name, const std::string& usual, const std::string& help) {
  return {
      {name + "_memory_efficiency", usual + "_memory_efficiency", help, config::at_least(least)},
      {name + "_cache_bandwidth", usual + "_cache_bandwidth",
       "rate at which they go through what the cache holds, where that is more than the memory's"},
      {name + "_launch_overhead", usual + "_launch_overhead", "time before each of them",
       config::at_least(SimTime::zero())},
      {name + "_row_bandwidth", usual + "_row_bandwidth",
       "rate at which one unit goes through a row (token)"}};
}

struct AllKeys {
  Keys vectors{
      {"vector_memory_efficiency", "memory_efficiency",
       "share of that bandwidth which work without a product reaches: norms, activations, softmax",
       config::at_least(least)},
      {"vector_cache_bandwidth", "0 B/s",
       "rate at which work without a product goes through what the cache (tile.sram, with operands "
       "in dram) holds: all of up to half its size, none from 1.5 times; 0 B/s: as the memory"},
      {"vector_launch_overhead", "launch_overhead", "time before each of them",
       config::at_least(SimTime::zero())},
      {"vector_row_bandwidth", "0 B/s",
       "rate at which one unit goes through a row (token) of them, so far as rows are known "
       "(served models); 0 B/s: never the limit"}};
  Keys norms = keys_of("norm", "vector", "the same of norms");
  Keys activations = keys_of("activation", "vector", "the same of activations");
  Keys rotations = keys_of("rotary", "activation", "the same of rotary positions");
  Keys sums = keys_of("sum", "vector",
                      "the same of skip connections, dropout and the optimizer, which stream");
};

// The classes, each behind the one that it is as where it does not state it.
struct Class {
  const Keys AllKeys::*keys;
  std::size_t usual;   // itself: none
  bool may_have_rows;  // of what is served, operations of all its kernels say them
};
constexpr std::array<Class, 5> classes{{{&AllKeys::vectors, 0, false},
                                        {&AllKeys::norms, 0, true},
                                        {&AllKeys::activations, 0, true},
                                        {&AllKeys::rotations, 2, true},
                                        {&AllKeys::sums, 0, false}}};

// Made when they are first asked for: the model's registration does.
const AllKeys& all_keys() {
  static const AllKeys keys;
  return keys;
}

}  // namespace

VectorKernels VectorKernels::read(config::Section& section, Fraction memory_efficiency,
                                  SimTime launch_overhead) {
  const AllKeys& keys = all_keys();
  VectorKernels kernels;
  kernels.plain_ =
      keys.vectors.read(section, {memory_efficiency, Bandwidth(), launch_overhead, Bandwidth()});
  kernels.norm_ = keys.norms.read(section, kernels.plain_);
  kernels.activation_ = keys.activations.read(section, kernels.plain_);
  kernels.rotary_ = keys.rotations.read(section, kernels.activation_);
  kernels.sum_ = keys.sums.read(section, kernels.plain_);
  return kernels;
}

// In the order of `classes`.
std::vector<const VectorKernel*> VectorKernels::all() const {
  return {&plain_, &norm_, &activation_, &rotary_, &sum_};
}

namespace {

using Kernels = std::vector<const VectorKernel*>;
using Rate = Bandwidth VectorKernel::*;

Bandwidth usual_rate(const Kernels& kernels, std::size_t of, Rate rate) {
  return classes[of].usual == of ? Bandwidth() : kernels[classes[of].usual]->*rate;
}

// Whether the class has its rate from the other one, or is that.
bool follows(const Kernels& kernels, std::size_t one, std::size_t other, Rate rate) {
  while (one != other && classes[one].usual != one &&
         kernels[one]->*rate == usual_rate(kernels, one, rate)) {
    one = classes[one].usual;
  }
  return one == other;
}

// Classes whose rate is their own and changes nothing: neither it nor the one that they would have
// without it counts for any that follows.
std::vector<std::size_t> idle_classes(
    const Kernels& kernels, Rate rate,
    const std::function<bool(std::size_t of, Bandwidth value)>& counts) {
  std::vector<std::size_t> idle;
  for (std::size_t place = 0; place < classes.size(); ++place) {
    const Bandwidth own = kernels[place]->*rate;
    const Bandwidth usual = usual_rate(kernels, place, rate);
    bool is_idle = own != usual;
    for (std::size_t of = 0; of < classes.size() && is_idle; ++of) {
      is_idle = !follows(kernels, of, place, rate) || (!counts(of, own) && !counts(of, usual));
    }
    if (is_idle) {
      idle.push_back(place);
    }
  }
  return idle;
}

}  // namespace

void VectorKernels::note_without_effect(config::Section& section,
                                        const std::vector<VectorMemory>& memories,
                                        bool has_rows) const {
  const AllKeys& keys = all_keys();
  const Kernels kernels = all();
  const auto has_cache = [](const VectorMemory& memory) { return memory.cache > Bytes(); };
  const bool is_cached = std::any_of(memories.begin(), memories.end(), has_cache);
  const auto is_faster = [&](std::size_t of, Bandwidth cache) {
    return std::any_of(memories.begin(), memories.end(), [&](const VectorMemory& memory) {
      const Bandwidth share = scaled(memory.whole, kernels[of]->memory_efficiency);
      const Bandwidth least = memory.left == Bandwidth() ? share : std::min(share, memory.left);
      return has_cache(memory) && cache > least;
    });
  };
  for (const std::size_t idle : idle_classes(kernels, &VectorKernel::cache_bandwidth, is_faster)) {
    config::note_without_effect(
        section, (keys.*classes[idle].keys).cache_bandwidth.key(),
        is_cached ? "a memory that is as fast" : "no cache (tile.sram, with operands: dram)");
  }
  const auto is_of_rows = [&](std::size_t of, Bandwidth rate) {
    return has_rows && classes[of].may_have_rows && rate > Bandwidth();
  };
  for (const std::size_t idle : idle_classes(kernels, &VectorKernel::row_bandwidth, is_of_rows)) {
    config::note_without_effect(section, (keys.*classes[idle].keys).row_bandwidth.key(),
                                has_rows ? "kernels whose rows are not known"
                                         : "work whose rows are not known, as only those of "
                                           "language models that tiles serve are");
  }
}

const VectorKernel& VectorKernels::of(workload::Kernel kernel) const {
  switch (kernel) {
    case workload::Kernel::norm:
      return norm_;
    case workload::Kernel::activation:
      return activation_;
    case workload::Kernel::rotary:
      return rotary_;
    case workload::Kernel::sum:
      return sum_;
    case workload::Kernel::plain:
    case workload::Kernel::fused_attention:
      break;
  }
  return plain_;
}

Fraction VectorKernels::most() const {
  return std::max({plain_.memory_efficiency, norm_.memory_efficiency, activation_.memory_efficiency,
                   rotary_.memory_efficiency, sum_.memory_efficiency});
}

SimTime time_of(const VectorKernel& kernel, const workload::Operation& operation,
                const VectorDevice& device) {
  const bool faster = kernel.cache_bandwidth > device.memory;
  const Bytes held = faster ? cached_bytes(operation.bytes, device.cache) : Bytes();
  const SimTime traffic = traffic_time(held, kernel.cache_bandwidth) +
                          traffic_time(operation.bytes - held, device.memory);
  return kernel.launch_overhead + std::max({execution_time(operation.flops, device.peak), traffic,
                                            traffic_time(operation.row, kernel.row_bandwidth)});
}

Bytes cached_bytes(Bytes bytes, Bytes cache) {
  const std::uint64_t half = cache.count() / 2;
  if (bytes.count() <= half) {
    return bytes;
  }
  if (bytes.count() >= 3 * half) {
    return Bytes();
  }
  const Wide held = Wide{bytes.count()} * (3 * half - bytes.count()) / (2 * half);
  return Bytes(static_cast<std::uint64_t>(held));
}

std::vector<ParameterInfo> vector_parameters() {
  const AllKeys& keys = all_keys();
  std::vector<ParameterInfo> all;
  for (const Keys* of :
       {&keys.vectors, &keys.norms, &keys.activations, &keys.rotations, &keys.sums}) {
    all.insert(all.end(), {of->memory_efficiency, of->cache_bandwidth, of->launch_overhead,
                           of->row_bandwidth});
  }
  return all;
}

}  // namespace tessera::compute
