// What a benchmark of a server leaves behind: vLLM's `bench serve` and benchmark_serving.py with
// --save-result --save-detailed, an object whose lists have a number of each request: input_lens,
// output_lens, and from 2025 on start_times [s].
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "requests/json_reader.hpp"
#include "requests/trace/json_number.hpp"
#include "requests/trace/rows.hpp"

namespace tessera::serving {

class Benchmark {
 public:
  Benchmark(JsonReader& json, TraceRows& rows) : json_(json), rows_(rows) {}

  // Whether the member is one of its lists, which is taken then.
  bool takes(std::string_view name);
  bool is_there() const { return has_sums_ || prompts_.is_there || answers_.is_there; }
  bool has_times() const { return times_.is_there; }
  // Whether all lists are there.
  bool is_whole() const { return prompts_.is_there && answers_.is_there && times_.is_there; }
  // Adds its requests and forgets them. Those that failed, which have no answer, are left out.
  // `line` and `column`: where the object begins.
  void add(int line, int column);

 private:
  template <class Value>
  struct List {
    std::vector<Value> values;
    bool is_there = false;
    int line = 0;
    int column = 0;
  };

  template <class Value, class Take>
  void read(List<Value>& list, Take take);
  std::int64_t take_time();
  template <class Value>
  void need(const List<Value>& list, const char* name, int line, int column) const;

  JsonReader& json_;
  TraceRows& rows_;
  List<std::uint32_t> prompts_;
  List<std::uint32_t> answers_;
  List<std::int64_t> times_;           // [ps] from a second of the first one on
  std::optional<std::int64_t> begin_;  // [s]
  Misfit misfit_;                      // in place of one of them
  bool has_sums_ = false;              // what it says of all requests together
};

}  // namespace tessera::serving
