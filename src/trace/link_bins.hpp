// The traffic of all links together, bin by bin.
#pragma once

#include <cstdint>
#include <map>

#include "rank_trace.hpp"

namespace tessera::trace {

struct LinkBin {
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 0;
  double bytes = 0;
  double busy_ps = 0;  // summed over the links
};

// Sums over the ranks. Their bins have the same borders.
class LinkBins {
 public:
  // Adds the bins of one rank that share an instant with [from_ps, to_ps). Throws IoError.
  void gather(const RankTrace& trace, std::int64_t from_ps, std::int64_t to_ps) {
    trace.for_each<LinkRow>(link_bins, [&](const LinkRow& row) {
      if (row.begin_ps < 0 || row.end_ps <= row.begin_ps) {
        trace.refuse_span(link_bins, row.begin_ps, row.end_ps);
      }
      if (row.begin_ps < to_ps && row.end_ps > from_ps) {
        LinkBin& bin = bins_[row.begin_ps];
        bin.begin_ps = row.begin_ps;
        bin.end_ps = row.end_ps;
        bin.bytes += static_cast<double>(row.bytes);
        bin.busy_ps += static_cast<double>(row.busy_ps);
      }
    });
    links_ += trace.rows(links);
  }

  const std::map<std::int64_t, LinkBin>& bins() const { return bins_; }
  // Links that were used in the run.
  std::uint64_t used_links() const { return links_; }

 private:
  std::map<std::int64_t, LinkBin> bins_;  // by begin
  std::uint64_t links_ = 0;
};

}  // namespace tessera::trace
