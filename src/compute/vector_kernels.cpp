#include "vector_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "operation_time.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/quotient.hpp"
#include "tessera/core/wide.hpp"

namespace tessera::compute {
namespace {

constexpr Fraction least = Fraction::millionths(1);
constexpr std::uint64_t most_threads = 1 << 20;
constexpr std::uint64_t most_serial_rows = 1 << 20;

// The keys of a class.
struct Keys {
  config::DerivedKey<Fraction> memory_efficiency;
  config::DerivedKey<Bandwidth> cache_bandwidth;
  config::DerivedKey<SimTime> launch_overhead;
  config::DerivedKey<Bandwidth> row_bandwidth;
  config::DerivedKey<std::uint64_t> block_threads;
  config::DerivedKey<Bytes> thread_bytes;

  VectorKernel read(config::Section& section, const VectorKernel& usual) const {
    return {memory_efficiency.read(section, usual.memory_efficiency),
            cache_bandwidth.read(section, usual.cache_bandwidth),
            launch_overhead.read(section, usual.launch_overhead),
            row_bandwidth.read(section, usual.row_bandwidth),
            block_threads.read(section, usual.block_threads),
            thread_bytes.read(section, usual.thread_bytes)};
  }
};

Keys keys_of(const std::string& name, const std::string& usual, const std::string& help) {
  return {
      {name + "_memory_efficiency", usual + "_memory_efficiency", help, config::at_least(least)},
      {name + "_cache_bandwidth", usual + "_cache_bandwidth",
       "rate of these kernels for data held in the cache, where it exceeds that of the memory"},
      {name + "_launch_overhead", usual + "_launch_overhead", "time before each of these kernels",
       config::at_least(SimTime::zero())},
      {name + "_row_bandwidth", usual + "_row_bandwidth",
       "rate at which one block of threads of these kernels processes a row (token)"},
      {name + "_block_threads", usual + "_block_threads",
       "maximum number of threads per block of these kernels",
       config::between<std::uint64_t>(0, most_threads)},
      {name + "_thread_bytes", usual + "_thread_bytes",
       "minimum number of bytes of a row that each thread of these kernels moves"}};
}

struct AllKeys {
  config::Key<std::uint64_t> unit_threads{
      "unit_threads", 0,
      "threads that a unit can hold, in blocks of `vector_block_threads` and so on; 0: kernels "
      "without a product process all their rows concurrently",
      config::between<std::uint64_t>(0, most_threads)};
  Keys vectors{{"vector_memory_efficiency", "memory_efficiency",
                "share of the operands' memory bandwidth that kernels without a product reach: "
                "norms, activations, softmax",
                config::at_least(least)},
               {"vector_cache_bandwidth", "0 B/s",
                "rate of kernels without a product for data held in the cache (tile.sram, with "
                "operands in dram), at most half of its size; 0 B/s: that of the memory"},
               {"vector_launch_overhead", "launch_overhead",
                "time before each kernel without a product", config::at_least(SimTime::zero())},
               {"vector_row_bandwidth", "0 B/s",
                "rate at which one block of threads of these kernels processes a row (token), "
                "where rows are known (served models); 0 B/s: never the limit"},
               {"vector_block_threads", "0",
                "maximum number of threads per block; blocks run in waves of as many as "
                "unit_threads can hold; 0: all rows are processed concurrently",
                config::between<std::uint64_t>(0, most_threads)},
               {"vector_thread_bytes", "0 B",
                "minimum number of bytes of a row that each thread moves, so that short rows have "
                "smaller blocks; 0 B: all blocks are alike"}};
  Keys norms =
      keys_of("norm", "vector", "share of the operands' memory bandwidth that norms reach");
  Keys activations = keys_of("activation", "vector",
                             "share of the operands' memory bandwidth that activations reach");
  Keys rotations = keys_of("rotary", "activation",
                           "share of the operands' memory bandwidth that rotary positions reach");
  Keys sums = keys_of("sum", "vector",
                      "share of the operands' memory bandwidth that skip connections, dropout and "
                      "the optimizer reach, which stream");
  Keys lookups = keys_of("lookup", "vector",
                         "share of the operands' memory bandwidth that table look-ups reach: rows "
                         "of words and positions");
  config::Key<std::uint64_t> serial_rows{"lookup_serial_rows", 0,
                                         "look-ups of up to this many rows (in served models) "
                                         "process them one after the other; 0: never",
                                         config::between<std::uint64_t>(0, most_serial_rows)};
  config::Key<SimTime> row_time{"lookup_row_time", SimTime::zero(),
                                "lookup_serial_rows: time per row",
                                config::at_least(SimTime::zero())};
};

// The classes, each behind the one that it is as where it does not state it.
struct Class {
  const Keys AllKeys::*keys;
  std::size_t usual;   // itself: none
  bool may_have_rows;  // of what is served, operations of all its kernels say them
};
constexpr std::array<Class, 6> classes{{{&AllKeys::vectors, 0, false},
                                        {&AllKeys::norms, 0, true},
                                        {&AllKeys::activations, 0, true},
                                        {&AllKeys::rotations, 2, true},
                                        {&AllKeys::sums, 0, false},
                                        {&AllKeys::lookups, 0, true}}};

// Made when they are first asked for: the model's registration does.
const AllKeys& all_keys() {
  static const AllKeys keys;
  return keys;
}

void read_serial(config::Section& section, VectorKernel& lookup) {
  const AllKeys& keys = all_keys();
  lookup.serial_rows = keys.serial_rows.read(section);
  lookup.row_time = keys.row_time.read(section);
  const bool has_rows = lookup.serial_rows > 0;
  if (has_rows != (lookup.row_time > SimTime::zero())) {
    const auto& [key, other] = has_rows ? std::pair(keys.serial_rows.key(), keys.row_time.key())
                                        : std::pair(keys.row_time.key(), keys.serial_rows.key());
    section.error(key, "is of no effect without '" + std::string(other) + "'");
  }
}

}  // namespace

VectorKernels VectorKernels::read(config::Section& section, Fraction memory_efficiency,
                                  SimTime launch_overhead) {
  const AllKeys& keys = all_keys();
  VectorKernels kernels;
  kernels.unit_threads_ = keys.unit_threads.read(section);
  kernels.plain_ = keys.vectors.read(
      section, {memory_efficiency, Bandwidth(), launch_overhead, Bandwidth(), 0, Bytes()});
  kernels.norm_ = keys.norms.read(section, kernels.plain_);
  kernels.activation_ = keys.activations.read(section, kernels.plain_);
  kernels.rotary_ = keys.rotations.read(section, kernels.activation_);
  kernels.sum_ = keys.sums.read(section, kernels.plain_);
  kernels.lookup_ = keys.lookups.read(section, kernels.plain_);
  read_serial(section, kernels.lookup_);
  return kernels;
}

// In the order of `classes`.
std::vector<const VectorKernel*> VectorKernels::all() const {
  return {&plain_, &norm_, &activation_, &rotary_, &sum_, &lookup_};
}

namespace {

using Kernels = std::vector<const VectorKernel*>;

template <class T>
T usual_value(const Kernels& kernels, std::size_t of, T VectorKernel::*member) {
  return classes[of].usual == of ? T() : kernels[classes[of].usual]->*member;
}

// Whether the class has its value from the other one, or is that.
template <class T>
bool follows(const Kernels& kernels, std::size_t one, std::size_t other, T VectorKernel::*member) {
  while (one != other && classes[one].usual != one &&
         kernels[one]->*member == usual_value(kernels, one, member)) {
    one = classes[one].usual;
  }
  return one == other;
}

// Classes whose value is their own and changes nothing: neither it nor the one that they would have
// without it counts for any that follows.
template <class T>
std::vector<std::size_t> idle_classes(const Kernels& kernels, T VectorKernel::*member,
                                      const std::function<bool(std::size_t of, T value)>& counts) {
  std::vector<std::size_t> idle;
  for (std::size_t place = 0; place < classes.size(); ++place) {
    const T own = kernels[place]->*member;
    const T usual = usual_value(kernels, place, member);
    bool is_idle = own != usual;
    for (std::size_t of = 0; of < classes.size() && is_idle; ++of) {
      is_idle = !follows(kernels, of, place, member) || (!counts(of, own) && !counts(of, usual));
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
  for (const std::size_t idle :
       idle_classes<Bandwidth>(kernels, &VectorKernel::cache_bandwidth, is_faster)) {
    config::note_without_effect(
        section, (keys.*classes[idle].keys).cache_bandwidth.key(),
        is_cached ? "a memory that is as fast" : "no cache (tile.sram, with operands: dram)");
  }
  note_rows(section, has_rows);
}

void VectorKernels::note_rows(config::Section& section, bool has_rows) const {
  const Kernels kernels = all();
  const auto has_rate = [&](std::size_t of, Bandwidth rate) {
    return has_rows && classes[of].may_have_rows && rate > Bandwidth();
  };
  const auto has_blocks = [&](std::size_t of, std::uint64_t threads) {
    return has_rate(of, kernels[of]->row_bandwidth) && threads > 0 && unit_threads_ > 0;
  };
  const auto has_short_rows = [&](std::size_t of, Bytes moved) {
    return has_blocks(of, kernels[of]->block_threads) && moved > Bytes();
  };
  const std::string_view no_rows =
      has_rows
          ? "kernels whose rows are not known"
          : "work whose rows are not known, as they are only for language models served by tiles";
  const std::string_view no_blocks =
      !has_rows            ? no_rows
      : unit_threads_ == 0 ? "unit_threads: 0"
                           : "kernels without a rate and blocks of rows that are known";
  const auto note = [&](const auto& idle, auto key, std::string_view with) {
    for (const std::size_t place : idle) {
      config::note_without_effect(section, (all_keys().*classes[place].keys.*key).key(), with);
    }
  };
  note(idle_classes<Bandwidth>(kernels, &VectorKernel::row_bandwidth, has_rate),
       &Keys::row_bandwidth, no_rows);
  note(idle_classes<std::uint64_t>(kernels, &VectorKernel::block_threads, has_blocks),
       &Keys::block_threads, no_blocks);
  note(idle_classes<Bytes>(kernels, &VectorKernel::thread_bytes, has_short_rows),
       &Keys::thread_bytes, no_blocks);
  bool has_waves = false;
  for (std::size_t place = 0; place < classes.size(); ++place) {
    has_waves = has_waves || has_blocks(place, kernels[place]->block_threads);
  }
  if (!has_rows && lookup_.serial_rows > 0) {
    for (const std::string_view key : {all_keys().serial_rows.key(), all_keys().row_time.key()}) {
      config::note_without_effect(section, key, no_rows);
    }
  }
  if (unit_threads_ > 0 && !has_waves) {
    config::note_without_effect(section, all_keys().unit_threads.key(), no_blocks);
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
    case workload::Kernel::lookup:
      return lookup_;
    case workload::Kernel::plain:
    case workload::Kernel::fused_attention:
      break;
  }
  return plain_;
}

Fraction VectorKernels::most() const {
  return std::max({plain_.memory_efficiency, norm_.memory_efficiency, activation_.memory_efficiency,
                   rotary_.memory_efficiency, sum_.memory_efficiency, lookup_.memory_efficiency});
}

namespace {

// A kernel's way through its rows: the time of all of them, and what units wait in the last wave.
struct Waves {
  SimTime through;
  SimTime idle;
};

// Rows that are gone through side by side.
std::uint64_t rows_of_wave(const VectorKernel& kernel, Bytes row, const VectorDevice& device) {
  std::uint64_t threads = kernel.block_threads;
  if (kernel.thread_bytes > Bytes()) {
    threads = std::min(threads, quotient_up(row.count(), kernel.thread_bytes.count()));
  }
  return device.units * std::max<std::uint64_t>(device.unit_threads / threads, 1);
}

Waves waves_of(const VectorKernel& kernel, const workload::Operation& operation,
               const VectorDevice& device) {
  if (kernel.serial_rows > 0 && operation.row > Bytes()) {
    const std::uint64_t rows = quotient_up(operation.bytes.count(), operation.row.count());
    if (rows <= kernel.serial_rows) {
      return {kernel.row_time * static_cast<std::int64_t>(rows), SimTime::zero()};
    }
  }
  const SimTime block = traffic_time(operation.row, kernel.row_bandwidth);
  if (block == SimTime::zero() || kernel.block_threads == 0 || device.unit_threads == 0) {
    return {block, SimTime::zero()};
  }
  const std::uint64_t rows = quotient_up(operation.bytes.count(), operation.row.count());
  const std::uint64_t of_wave = rows_of_wave(kernel, operation.row, device);
  const SimTime all = block * static_cast<std::int64_t>(quotient_up(rows, of_wave));
  const auto through = SimTime::from_ps(
      static_cast<std::int64_t>(Wide{static_cast<std::uint64_t>(block.ps())} * rows / of_wave));
  return {through, all - through};
}

}  // namespace

SimTime time_of(const VectorKernel& kernel, const workload::Operation& operation,
                const VectorDevice& device) {
  const bool faster = kernel.cache_bandwidth > device.memory;
  const Bytes held = faster ? std::min(operation.bytes, Bytes(device.cache.count() / 2)) : Bytes();
  const SimTime traffic = traffic_time(held, kernel.cache_bandwidth) +
                          traffic_time(operation.bytes - held, device.memory);
  const Waves waves = waves_of(kernel, operation, device);
  return kernel.launch_overhead +
         std::max({execution_time(operation.flops, device.peak), traffic, waves.through}) +
         waves.idle;
}

std::vector<ParameterInfo> vector_parameters() {
  const AllKeys& keys = all_keys();
  std::vector<ParameterInfo> all{keys.unit_threads};
  for (const Keys* of : {&keys.vectors, &keys.norms, &keys.activations, &keys.rotations, &keys.sums,
                         &keys.lookups}) {
    all.insert(all.end(), {of->memory_efficiency, of->cache_bandwidth, of->launch_overhead,
                           of->row_bandwidth, of->block_threads, of->thread_bytes});
  }
  all.insert(all.end(), {keys.serial_rows, keys.row_time});
  return all;
}

}  // namespace tessera::compute
