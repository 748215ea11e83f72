// Requests that are known before the run, in order of arrival: 16 bytes each of a language model;
// what few have (samples, prefixes, classes, blocks that others share) is kept beside only where
// some have it. Many are not held in memory (column.hpp).
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "requests/column.hpp"
#include "tessera/serving/request.hpp"

namespace tessera::serving {

// What requests ask for at most, as of RequestSource, looked at one after the other.
class Extent {
 public:
  void add(const Request& request);
  const Request& largest() const { return largest_; }
  std::vector<std::uint32_t> samples() const { return {samples_.begin(), samples_.end()}; }

 private:
  Request largest_;
  std::set<std::uint32_t> samples_;
};

class RequestTable final : public RequestSource {
 public:
  void add(const Request& request) { add(request, {}); }
  // `pieces`: numbers of the blocks that its prompt begins with, each of `piece_tokens`.
  void add(const Request& request, std::span<const std::uint32_t> pieces);
  void set_piece_tokens(std::uint32_t tokens) { piece_tokens_ = tokens; }
  // Once all are there: puts them in order, those of the same time as they came. With `from_first`
  // times count from the earliest one.
  void finish(bool from_first);
  void divide_times(double speed) { speed_ = speed; }
  void add_note(const std::string& note) { notes_.push_back(note); }

  std::optional<std::uint64_t> count() const override { return rows_.size(); }
  Request request(std::uint64_t number) const override;
  Request largest() const override { return extent_.largest(); }
  std::vector<std::uint32_t> samples() const override { return extent_.samples(); }
  // Valid until the next call.
  std::span<const std::uint32_t> pieces(std::uint64_t number) const override;
  std::uint32_t piece_tokens() const override { return piece_tokens_; }
  std::uint32_t class_of(std::uint64_t number) const override {
    return classes_.empty() ? 0 : classes_[number];
  }
  std::size_t resident_bytes() const override;
  std::vector<std::string> notes() const override { return notes_; }
  bool is_drawn() const override { return false; }
  bool was_in_order() const { return was_in_order_; }
  bool shares_beginnings() const override { return !prefixes_.empty() || !pieces_.empty(); }

 private:
  struct Row {
    SimTime arrival;
    std::uint32_t prompt = 0;
    std::uint32_t generate = 0;
  };
  struct Prefix {
    std::uint32_t number = 0;
    std::uint32_t tokens = 0;
  };

  void sort();
  SimTime arrival_of(const Row& row) const;

  Column<Row> rows_;
  Column<std::uint32_t> samples_;     // [rows], or none: 1 each
  Column<Prefix> prefixes_;           // [rows], or none
  Column<std::uint32_t> classes_;     // the same
  Column<std::uint32_t> adapters_;    // the same
  Column<std::uint64_t> piece_ends_;  // [rows] in pieces_, or none
  Column<std::uint32_t> pieces_;
  std::uint32_t piece_tokens_ = 0;
  Extent extent_;
  std::vector<std::string> notes_;
  SimTime begin_ = SimTime::zero();  // of the table's times
  double speed_ = 1;                 // by which what is behind it is divided
  bool was_in_order_ = true;
};

}  // namespace tessera::serving
