#include "requests/table.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::serving {
namespace {

// Where a request stands, and when it comes.
struct Place {
  SimTime arrival;
  std::uint64_t number = 0;
};

// Puts a column that is there in the order of `places`.
template <class Value>
void put_in_order(Column<Value>& column, const std::vector<Place>& places) {
  if (column.empty()) {
    return;
  }
  // A block at a time, read in the order in which it lies there.
  Column<Value> sorted;
  std::vector<std::pair<std::uint64_t, std::size_t>> from;  // number, place in the block
  std::vector<Value> block;
  for (std::size_t begin = 0; begin < places.size(); begin += Column<Value>::of_block) {
    const std::size_t count = std::min(places.size() - begin, Column<Value>::of_block);
    from.clear();
    for (std::size_t place = 0; place < count; ++place) {
      from.emplace_back(places[begin + place].number, place);
    }
    std::sort(from.begin(), from.end());
    block.resize(count);
    for (const auto& [number, place] : from) {
      block[place] = column[number];
    }
    for (const Value& value : block) {
      sorted.push_back(value);
    }
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
  for (const std::uint32_t piece : pieces) {
    pieces_.push_back(piece);
  }
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
    begin_ = rows_[0].arrival;
  }
  rows_.finish();
  samples_.finish();
  prefixes_.finish();
  classes_.finish();
  adapters_.finish();
  piece_ends_.finish();
  pieces_.finish();
}

SimTime RequestTable::arrival_of(const Row& row) const {
  const SimTime arrival = row.arrival - begin_;
  return speed_ == 1 ? arrival
                     : SimTime::from_ps(std::llround(
                           std::min(9.2e18, static_cast<double>(arrival.ps()) / speed_)));
}

// Of what is out of order 16 bytes a request are held meanwhile, or 24.
void RequestTable::sort() {
  std::vector<Place> places;
  places.reserve(rows_.size());
  for (std::uint64_t number = 0; number < rows_.size(); ++number) {
    places.push_back({rows_[number].arrival, number});
  }
  std::ranges::stable_sort(places, {}, &Place::arrival);
  if (!piece_ends_.empty()) {
    Column<std::uint32_t> sorted;
    Column<std::uint64_t> ends;
    for (const Place& place : places) {
      for (const std::uint32_t piece : pieces(place.number)) {
        sorted.push_back(piece);
      }
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
  const Row row = rows_[number];
  Request request;
  request.arrival = arrival_of(row);
  request.prompt = row.prompt;
  request.generate = row.generate;
  request.samples = samples_.empty() ? 1 : samples_[number];
  request.of_class = class_of(number);
  request.adapter = adapters_.empty() ? 0 : adapters_[number];
  if (!prefixes_.empty()) {
    const Prefix prefix = prefixes_[number];
    request.prefix = prefix.number;
    request.prefix_tokens = prefix.tokens;
  }
  return request;
}

std::span<const std::uint32_t> RequestTable::pieces(std::uint64_t number) const {
  if (piece_ends_.empty()) {
    return {};
  }
  const std::uint64_t begin = number == 0 ? 0 : piece_ends_[number - 1];
  return pieces_.range(begin, piece_ends_[number]);
}

std::size_t RequestTable::resident_bytes() const {
  return rows_.resident_bytes() + samples_.resident_bytes() + prefixes_.resident_bytes() +
         classes_.resident_bytes() + adapters_.resident_bytes() + piece_ends_.resident_bytes() +
         pieces_.resident_bytes();
}

}  // namespace tessera::serving
