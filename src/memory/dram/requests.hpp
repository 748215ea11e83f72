// Requests that a DRAM controller holds: a pool, found again by their burst.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/memory/dram/channel.hpp"

namespace tessera::memory {

struct HeldRequest {
  std::uint64_t id = 0;
  std::uint64_t burst = 0;
  std::uint64_t order = 0;  // of submission, from 1
  std::uint32_t row = 0;
  std::uint16_t bank = 0;
  std::uint8_t write = 0;
  std::uint8_t listed = 0;      // 1: can be found by its burst
  std::uint32_t same_hash = 0;  // next of its burst's chain; of a free place: the next free one
  // Of a list of the scheduler:
  std::uint32_t next = 0;
  std::uint32_t last = 0;
  std::uint32_t next_list = 0;
};

class HeldRequests {
 public:
  static constexpr std::uint32_t none = 0xFFFFFFFFU;

  // Chains are short with up to `expected` requests.
  explicit HeldRequests(std::size_t expected)
      : chains_(std::bit_ceil(std::clamp<std::size_t>(expected, 64, 4096)), none),
        shift_(64 - static_cast<unsigned>(std::countr_zero(chains_.size()))) {}

  HeldRequest& operator[](std::uint32_t place) { return pool_[place]; }
  const HeldRequest& operator[](std::uint32_t place) const { return pool_[place]; }
  std::size_t size() const { return size_; }
  std::size_t writes() const { return writes_; }

  // `listed`: to be found by its burst.
  std::uint32_t add(const DramRequest& request, bool listed) {
    std::uint32_t place = free_;
    if (place == none) {
      place = static_cast<std::uint32_t>(pool_.size());
      pool_.emplace_back();
    } else {
      free_ = pool_[place].same_hash;
    }
    HeldRequest& held = pool_[place];
    held.id = request.id;
    held.burst = request.burst;
    held.order = ++orders_;
    held.row = request.row;
    held.bank = static_cast<std::uint16_t>(request.bank);
    held.write = request.write ? 1 : 0;
    held.listed = listed ? 1 : 0;
    held.next = held.last = held.next_list = none;
    if (listed) {
      std::uint32_t& chain = chain_of(request.burst);
      held.same_hash = chain;
      chain = place;
      ++listed_;
      writes_in_block_[block_of(request.burst)] += held.write;
    }
    ++size_;
    writes_ += held.write;
    return place;
  }

  void remove(std::uint32_t place) {
    if (pool_[place].listed != 0) {
      writes_in_block_[block_of(pool_[place].burst)] -= pool_[place].write;
      std::uint32_t* link = &chain_of(pool_[place].burst);
      while (*link != place) {
        link = &pool_[*link].same_hash;
      }
      *link = pool_[place].same_hash;
      --listed_;
    }
    writes_ -= pool_[place].write;
    pool_[place].same_hash = free_;
    free_ = place;
    --size_;
  }

  // The latest of that burst and kind that is listed, or none.
  std::uint32_t find(std::uint64_t burst, bool write) const {
    if (listed_ == 0) {
      return none;
    }
    std::uint32_t place = chains_[chain_index(burst)];
    while (place != none && (pool_[place].burst != burst || (pool_[place].write != 0) != write)) {
      place = pool_[place].same_hash;
    }
    return place;
  }

  // Any of so many bursts from this one on is to be written by one that is listed.
  bool holds_write(std::uint64_t burst, std::uint32_t count) const {
    const std::uint64_t end = burst + count;
    while (writes_ > 0 && burst < end) {
      if (writes_in_block_[block_of(burst)] == 0) {
        burst = (burst | (block - 1)) + 1;
      } else if (find(burst++, true) != none) {
        return true;
      }
    }
    return false;
  }

  std::size_t resident_bytes() const {
    return chains_.capacity() * sizeof(std::uint32_t) + pool_.capacity() * sizeof(HeldRequest);
  }
  void save(pdes::StateWriter& writer) const {
    writer.put_all(pool_);
    writer.put_all(chains_);
    writer.put(free_);
    writer.put(orders_);
    writer.put(static_cast<std::uint64_t>(size_));
    writer.put(static_cast<std::uint64_t>(listed_));
    writer.put(static_cast<std::uint64_t>(writes_));
    writer.put(writes_in_block_);
  }
  void restore(pdes::StateReader& reader) {
    pool_ = reader.get_all<HeldRequest>();
    chains_ = reader.get_all<std::uint32_t>();
    free_ = reader.get<std::uint32_t>();
    orders_ = reader.get<std::uint64_t>();
    size_ = static_cast<std::size_t>(reader.get<std::uint64_t>());
    listed_ = static_cast<std::size_t>(reader.get<std::uint64_t>());
    writes_ = static_cast<std::size_t>(reader.get<std::uint64_t>());
    writes_in_block_ = reader.get<std::array<std::uint32_t, blocks>>();
  }

 private:
  static constexpr std::uint64_t block = 8;  // bursts
  static constexpr std::size_t blocks = 256;

  static std::size_t block_of(std::uint64_t burst) {
    return static_cast<std::size_t>(burst / block % blocks);
  }
  std::size_t chain_index(std::uint64_t burst) const {
    return static_cast<std::size_t>(burst * 0x9E3779B97F4A7C15ULL >> shift_);
  }
  std::uint32_t& chain_of(std::uint64_t burst) { return chains_[chain_index(burst)]; }

  std::vector<HeldRequest> pool_;
  std::vector<std::uint32_t> chains_;  // by a hash of the burst
  unsigned shift_;
  std::uint32_t free_ = none;
  std::uint64_t orders_ = 0;
  std::size_t size_ = 0;
  std::size_t listed_ = 0;
  std::size_t writes_ = 0;
  std::array<std::uint32_t, blocks> writes_in_block_{};  // of those that are listed
};

}  // namespace tessera::memory
