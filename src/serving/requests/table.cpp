#include "requests/table.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera::serving {
namespace {

// Puts a column that is there in the order of `places`.
template <class Value>
void put_in_order(Column<Value>& column, const std::vector<std::uint64_t>& places) {
  if (column.empty()) {
    return;
  }
  Column<Value> sorted;
  for (const std::uint64_t place : places) {
    sorted.push_back(column[place]);
  }
  column = std::move(sorted);
}

}  // namespace

void Extent::add(const Request& request) {
  samples_.insert(request.samples);
  largest_.samples = std::max(largest_.samples, request.samples);
  const auto tokens = [](const Request& one) { return std::uint64_t{one.prompt} + one.generate; };
  if (tokens(request) > tokens(largest_)) {
    largest_.prompt = request.prompt;
    largest_.generate = request.generate;
  }
}

void RequestTable::add(const Request& request, std::span<const std::uint32_t> pieces) {
  was_in_order_ = was_in_order_ && (rows_.empty() || rows_.back().arrival <= request.arrival);
  if (request.samples != 1 && samples_.empty()) {
    samples_.resize(rows_.size(), 1);
  }
  if (request.prefix != 0 && prefixes_.empty()) {
    prefixes_.resize(rows_.size());
  }
  if (request.adapter != 0 && adapters_.empty()) {
    adapters_.resize(rows_.size());
  }
  if (request.of_class != 0 && classes_.empty()) {
    classes_.resize(rows_.size());
  }
  if (!pieces.empty() && piece_ends_.empty()) {
    piece_ends_.resize(rows_.size(), 0);
  }
  rows_.push_back({request.arrival, request.prompt, request.generate});
  if (!samples_.empty() || request.samples != 1) {
    samples_.push_back(request.samples);
  }
  if (!prefixes_.empty() || request.prefix != 0) {
    prefixes_.push_back({request.prefix, request.prefix_tokens});
  }
  if (!adapters_.empty() || request.adapter != 0) {
    adapters_.push_back(request.adapter);
  }
  if (!classes_.empty() || request.of_class != 0) {
    classes_.push_back(request.of_class);
  }
  pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
  if (!piece_ends_.empty() || !pieces.empty()) {
    piece_ends_.push_back(pieces_.size());
  }
  extent_.add(request);
}

void RequestTable::finish(bool from_first) {
  if (!was_in_order_) {
    sort();
  }
  if (from_first && !rows_.empty()) {
    const SimTime first = rows_[0].arrival;
    rows_.change_all([first](Row& row) { row.arrival -= first; });
  }
  rows_.finish();
  samples_.finish();
  prefixes_.finish();
  classes_.finish();
  adapters_.finish();
  piece_ends_.finish();
  pieces_.shrink_to_fit();
}

void RequestTable::divide_times(double speed) {
  rows_.change_all([speed](Row& row) {
    row.arrival = SimTime::from_ps(
        std::llround(std::min(9.2e18, static_cast<double>(row.arrival.ps()) / speed)));
  });
}

void RequestTable::sort() {
  std::vector<std::uint64_t> places(rows_.size());
  std::iota(places.begin(), places.end(), std::uint64_t{0});
  std::stable_sort(places.begin(), places.end(), [this](std::uint64_t a, std::uint64_t b) {
    return rows_[a].arrival < rows_[b].arrival;
  });
  if (!piece_ends_.empty()) {
    std::vector<std::uint32_t> sorted;
    Column<std::uint64_t> ends;
    for (const std::uint64_t place : places) {
      const auto some = pieces(place);
      sorted.insert(sorted.end(), some.begin(), some.end());
      ends.push_back(sorted.size());
    }
    pieces_ = std::move(sorted);
    piece_ends_ = std::move(ends);
  }
  put_in_order(rows_, places);
  put_in_order(samples_, places);
  put_in_order(prefixes_, places);
  put_in_order(classes_, places);
  put_in_order(adapters_, places);
}

Request RequestTable::request(std::uint64_t number) const {
  const Row& row = rows_[number];
  Request request;
  request.arrival = row.arrival;
  request.prompt = row.prompt;
  request.generate = row.generate;
  request.samples = samples_.empty() ? 1 : samples_[number];
  request.of_class = class_of(number);
  request.adapter = adapters_.empty() ? 0 : adapters_[number];
  if (!prefixes_.empty()) {
    request.prefix = prefixes_[number].number;
    request.prefix_tokens = prefixes_[number].tokens;
  }
  return request;
}

std::span<const std::uint32_t> RequestTable::pieces(std::uint64_t number) const {
  if (piece_ends_.empty()) {
    return {};
  }
  const std::uint64_t begin = number == 0 ? 0 : piece_ends_[number - 1];
  return std::span(pieces_).subspan(begin, piece_ends_[number] - begin);
}

std::size_t RequestTable::resident_bytes() const {
  return rows_.resident_bytes() + samples_.resident_bytes() + prefixes_.resident_bytes() +
         classes_.resident_bytes() + adapters_.resident_bytes() + piece_ends_.resident_bytes() +
         pieces_.capacity() * sizeof(std::uint32_t);
}

}  // namespace tessera::serving
