#include "requests/trace/benchmark.hpp"

#include "tessera/serving/trace_time.hpp"

namespace tessera::serving {

template <class Value, class Take>
void Benchmark::read(List<Value>& list, Take take) {
  json_.first();
  list = {};
  list.is_there = true;
  list.line = json_.text().line();
  list.column = json_.text().column();
  json_.array([&] { list.values.push_back(take()); });
}

bool Benchmark::takes(std::string_view name) {
  const bool is_prompts = name == "input_lens";
  has_sums_ = has_sums_ || name == "total_input_tokens";
  if (!is_prompts && name != "output_lens" && name != "start_times") {
    return false;
  }
  if (json_.first() != '[') {
    misfit_ = misfit_.is_something() ? misfit_ : misfit_next(json_, name);
    return false;
  }
  if (name == "start_times") {
    read(times_, [this] { return take_time(); });
    return true;
  }
  read(is_prompts ? prompts_ : answers_, [&] {
    const JsonNumber number = take_number(json_, name);
    return rows_.tokens(number.field(), number.name, 0);
  });
  return true;
}

// Clocks of processes count from when the machine was started: whole seconds of the first time are
// taken off before it becomes picoseconds, which would not hold them.
std::int64_t Benchmark::take_time() {
  const JsonNumber number = take_number(json_, "start_times");
  const auto time = seconds_from(number.text);
  constexpr std::int64_t most = 9'000'000;
  if (!time) {
    throw rows_.error(number.field(), "start_times: " + quoted(std::string_view(number.text)) +
                                          " is no time in seconds, without an exponent");
  }
  begin_ = begin_.value_or(time->seconds - 86'400);
  const std::int64_t since = time->seconds - *begin_;
  if (since < 0 || since > most) {
    throw rows_.error(number.field(),
                      "start_times: more than 100 days behind, or a day before, "
                      "the first");
  }
  return since * 1'000'000'000'000 + time->ps;
}

template <class Value>
void Benchmark::need(const List<Value>& list, const char* name, int line, int column) const {
  if (!list.is_there) {
    throw rows_.error({{}, line, column}, std::string("a benchmark without '") + name +
                                              "' (vLLM writes it with --save-detailed)");
  }
  if (list.values.size() != prompts_.values.size()) {
    throw rows_.error({{}, list.line, list.column},
                      std::string(name) + " has " + std::to_string(list.values.size()) +
                          " numbers, input_lens " + std::to_string(prompts_.values.size()));
  }
}

void Benchmark::add(int line, int column) {
  if (misfit_.is_something()) {
    throw rows_.error({{}, misfit_.line, misfit_.column}, misfit_.complaint("a list"));
  }
  need(prompts_, "input_lens", line, column);
  need(answers_, "output_lens", line, column);
  if (times_.is_there) {
    need(times_, "start_times", line, column);
  }
  for (std::size_t number = 0; number < prompts_.values.size() && !rows_.is_full(); ++number) {
    Request request;
    request.arrival = SimTime::from_ps(times_.is_there ? times_.values[number] : 0);
    request.prompt = prompts_.values[number];
    request.generate = answers_.values[number];
    rows_.add_logged({{}, prompts_.line, prompts_.column}, request);
  }
  prompts_ = answers_ = {};
  times_ = {};
  has_sums_ = false;
}

}  // namespace tessera::serving
