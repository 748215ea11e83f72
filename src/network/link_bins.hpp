// What each directed link did until the last time bin ended.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tessera/core/wide.hpp"

namespace tessera::network {

// What a link had done when the last bin ended, and the longest wait until then.
struct BinState {
  std::int64_t busy_ps = 0;
  std::uint64_t bytes = 0;
  float longest_wait_ps = 0;
};

// What of `booked` lies before a time, beyond which a link is busy for `beyond_ps` without a gap,
// given what lay before an earlier one. Bytes booked since the earlier time count as spread evenly
// over the time booked since.
inline BinState without(std::int64_t beyond_ps, BinState booked, const BinState& before) {
  const std::int64_t since_ps = booked.busy_ps - before.busy_ps;
  const std::int64_t to_come_ps = std::min(beyond_ps, since_ps);
  if (to_come_ps > 0) {
    booked.bytes -= static_cast<std::uint64_t>(static_cast<Wide>(booked.bytes - before.bytes) *
                                               static_cast<std::uint64_t>(to_come_ps) /
                                               static_cast<std::uint64_t>(since_ps));
    booked.busy_ps -= to_come_ps;
  }
  return booked;
}

// Bins of links in pages, made when a link of the page is first used: idle routers need none.
class BinTable {
 public:
  void open(std::size_t links) { pages_.resize((links + page_links - 1) / page_links); }
  bool is_open() const { return !pages_.empty(); }
  BinState& operator[](std::uint32_t link) {
    std::unique_ptr<Page>& page = pages_[link / page_links];
    if (page == nullptr) [[unlikely]] {
      page = std::make_unique<Page>();
      ++used_;
    }
    return (*page)[link % page_links];
  }
  BinState value(std::uint32_t link) const {
    const Page* const page = pages_[link / page_links].get();
    return page == nullptr ? BinState{} : (*page)[link % page_links];
  }
  std::size_t resident_bytes() const {
    return pages_.capacity() * sizeof(pages_.front()) + used_ * sizeof(Page);
  }

 private:
  static constexpr std::uint32_t page_links = 64;
  using Page = std::array<BinState, page_links>;
  std::vector<std::unique_ptr<Page>> pages_;
  std::size_t used_ = 0;
};

}  // namespace tessera::network
