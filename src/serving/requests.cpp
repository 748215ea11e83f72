#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "tessera/config/conditional_key.hpp"
#include "tessera/config/key.hpp"
#include "tessera/core/random.hpp"
#include "tessera/serving/language_model.hpp"
#include "tessera/serving/request.hpp"

namespace tessera::serving {
namespace {

using config::between;
using config::Key;
using config::OptionalKey;
using config::OtherKey;
using config::RequiredKey;
using config::Section;
using config::where_used;

constexpr std::int64_t most_requests = 10'000'000;
constexpr double longest_run = 1e6;  // [s]

// What is drawn at random of a request: depends on seed, request and what it is alone.
enum Draw : std::uint32_t { interval, samples_draw, prompt_draw, generate_draw, prefix_draw };

RandomStream random(std::uint64_t seed, std::uint64_t number, Draw what) {
  return {seed, EntityId(0), what, number};
}

// A whole number, always the same or between two.
struct Count {
  std::uint32_t least = 1;
  std::uint32_t most = 1;
  std::uint32_t at(std::uint64_t seed, std::uint64_t number, Draw what) const {
    const std::uint64_t range = std::uint64_t{most} - least + 1;
    return least + static_cast<std::uint32_t>(random(seed, number, what).next_below(range));
  }
};

// A number, or [LEAST, MOST].
struct CountKey {
  OtherKey key;
  std::int64_t most;
};

Count read_count(Section& section, const CountKey& count) {
  const std::string_view key = count.key.key();
  const auto range = between<std::int64_t>(1, count.most);
  if (section.has(key) && section.raw(key).kind == config::Value::Kind::sequence) {
    const auto ends = section.get_list<std::int64_t>(key);
    const bool good =
        ends.size() == 2 && ends[0] >= 1 && ends[0] <= ends[1] && ends[1] <= count.most;
    if (!good) {
      section.error(key,
                    "expected a number or [LEAST, MOST], from 1 to " + std::to_string(count.most));
      return {};
    }
    return {static_cast<std::uint32_t>(ends[0]), static_cast<std::uint32_t>(ends[1])};
  }
  const auto number =
      static_cast<std::uint32_t>(std::max<std::int64_t>(1, section.get<std::int64_t>(key, range)));
  return {number, number};
}

// What requests ask for.
struct Shape {
  Count samples;
  Count prompt;
  Count generate;
  std::uint32_t prefixes = 0;  // different ones, shared at random; 0: none
  std::uint32_t prefix_tokens = 0;
  std::uint64_t seed = 0;
  bool of_language = false;

  Request at(std::uint64_t number, SimTime arrival) const {
    Request request;
    request.arrival = arrival;
    if (!of_language) {
      request.samples = samples.at(seed, number, samples_draw);
      return request;
    }
    request.prompt = prompt.at(seed, number, prompt_draw) + prefix_tokens;
    request.generate = generate.at(seed, number, generate_draw);
    if (prefixes > 0) {
      request.prefix =
          1 + static_cast<std::uint32_t>(random(seed, number, prefix_draw).next_below(prefixes));
      request.prefix_tokens = prefix_tokens;
    }
    return request;
  }
  Request largest() const {
    Request request;
    request.samples = samples.most;
    if (of_language) {
      request.prompt = prompt.most + prefix_tokens;
      request.generate = generate.most;
    }
    return request;
  }
};

constexpr std::uint32_t most_length = most_keys;
constexpr std::uint32_t most_samples = 1 << 16;

const CountKey samples_key{
    {"samples", "integer or range", "1", "of models that are no language models"}, most_samples};
const CountKey prompt_key{
    {"prompt", "integer or range", "", "tokens of a prompt: a number, or [LEAST, MOST]"},
    most_length};
const CountKey generate_key{
    {"generate", "integer or range", "", "tokens to generate: a number, or [LEAST, MOST]"},
    most_length};
const RequiredKey<std::uint32_t> prefix_tokens{
    "prefix.tokens", "tokens before each prompt that requests share", between(1U, most_length)};
const Key<std::uint32_t> prefix_count{
    "prefix.count", 1, "different prefixes, one for each request at random", between(1U, 1U << 20)};

Shape read_shape(Section& section, const RequestNeeds& needs) {
  Shape shape;
  shape.seed = needs.seed;
  shape.of_language = needs.of_language;
  if (!needs.of_language) {
    if (section.has(samples_key.key.key())) {
      shape.samples = read_count(section, samples_key);
    }
    return shape;
  }
  shape.prompt = read_count(section, prompt_key);
  shape.generate = read_count(section, generate_key);
  if (section.has("prefix")) {
    Section prefix = section.section("prefix");
    shape.prefix_tokens = prefix_tokens.read(prefix);
    shape.prefixes = prefix_count.read(prefix);
  }
  return shape;
}

class Listed final : public RequestSource {
 public:
  explicit Listed(std::vector<Request> requests) : requests_(std::move(requests)) {
    for (const Request& request : requests_) {
      largest_.samples = std::max(largest_.samples, request.samples);
      largest_.prompt = std::max(largest_.prompt, request.prompt);
      largest_.generate = std::max(largest_.generate, request.generate);
    }
  }
  std::optional<std::uint64_t> count() const override { return requests_.size(); }
  Request request(std::uint64_t number) const override { return requests_[number]; }
  Request largest() const override { return largest_; }
  std::vector<std::uint32_t> samples() const override {
    std::set<std::uint32_t> different;
    for (const Request& request : requests_) {
      different.insert(request.samples);
    }
    return {different.begin(), different.end()};
  }

 private:
  std::vector<Request> requests_;
  Request largest_;
};

class Closed final : public RequestSource {
 public:
  Closed(const Shape& shape, std::uint32_t clients, std::optional<std::uint64_t> count)
      : shape_(shape), clients_(clients), count_(count) {}
  std::optional<std::uint64_t> count() const override { return count_; }
  Request request(std::uint64_t number) const override {
    return shape_.at(number, SimTime::zero());
  }
  std::uint32_t clients() const override { return clients_; }
  Request largest() const override { return shape_.largest(); }
  std::vector<std::uint32_t> samples() const override {
    std::vector<std::uint32_t> all;
    for (std::uint32_t samples = shape_.samples.least; samples <= shape_.samples.most; ++samples) {
      all.push_back(samples);
    }
    return all;
  }

 private:
  Shape shape_;
  std::uint32_t clients_;
  std::optional<std::uint64_t> count_;
};

using Made = std::unique_ptr<RequestSource>;

const RequiredKey<std::uint64_t> count_key{"count", "requests",
                                           between<std::uint64_t>(1, most_requests)};

void refuse_endless(Section& section, const RequestNeeds& needs) {
  if (needs.endless) {
    section.error("arrivals", "a tenant in the background has closed arrivals");
  }
}

const Key<SimTime> interval_key{"interval", SimTime::zero(), "between two of them"};
const Key<SimTime> begin_key{"begin", SimTime::zero(), "arrival of the first"};

Made make_fixed(Section& section, const RequestNeeds& needs) {
  refuse_endless(section, needs);
  const Shape shape = read_shape(section, needs);
  const std::uint64_t count = count_key.read(section);
  const SimTime gap = interval_key.read(section);
  const SimTime begin = begin_key.read(section);
  if (begin.seconds() + static_cast<double>(count) * gap.seconds() > longest_run) {
    section.error("interval", "the last request arrives after more than 10^6 s");
    return nullptr;
  }
  std::vector<Request> requests;
  for (std::uint64_t number = 0; number < count; ++number) {
    requests.push_back(shape.at(number, begin + gap * static_cast<std::int64_t>(number)));
  }
  return std::make_unique<Listed>(std::move(requests));
}

const RequiredKey<double> rate_key{"rate", "requests a second, on average", between(1e-3, 1e9)};

Made make_poisson(Section& section, const RequestNeeds& needs) {
  refuse_endless(section, needs);
  const Shape shape = read_shape(section, needs);
  const std::uint64_t count = count_key.read(section);
  const double rate = rate_key.read(section);
  if (!(rate > 0)) {
    return nullptr;
  }
  std::vector<Request> requests;
  double time = 0;  // [s]
  for (std::uint64_t number = 0; number < count; ++number) {
    time += random(needs.seed, number, interval).next_exponential(1 / rate);
    if (time > longest_run) {
      section.error("rate", "the last request arrives after more than 10^6 s");
      return nullptr;
    }
    requests.push_back(shape.at(number, SimTime::from_ps(static_cast<std::int64_t>(time * 1e12))));
  }
  return std::make_unique<Listed>(std::move(requests));
}

const Key<std::uint32_t> clients_key{"clients", 1, "requests under way at a time",
                                     between(1U, 1U << 20)};

Made make_closed(Section& section, const RequestNeeds& needs) {
  const Shape shape = read_shape(section, needs);
  const std::uint32_t clients = clients_key.read(section);
  std::optional<std::uint64_t> count;
  if (!needs.endless) {
    count = count_key.read(section);
  } else if (section.has("count")) {
    section.raw("count");
    section.error("count", "a tenant in the background asks until the others are served");
  }
  return std::make_unique<Closed>(shape, clients, count);
}

const OtherKey list_key{"list", "list or file", "",
                        "requests, or a CSV, YAML or JSON file of them"};
const RequiredKey<SimTime> at_key{"list[].at", "arrival"};
const OptionalKey<std::uint32_t> own_samples{
    "list[].samples", "1", "of models that are no language models", between(1U, most_samples)};
const RequiredKey<std::uint32_t> own_prompt{"list[].prompt", "tokens", between(1U, most_length)};
const RequiredKey<std::uint32_t> own_generate{"list[].generate", "tokens",
                                              between(1U, most_length)};
const OptionalKey<std::string> own_prefix{"list[].prefix", "none",
                                          "name of the prompt's beginning, which others share"};
const RequiredKey<std::uint32_t> own_prefix_tokens{"list[].prefix_tokens", "its length",
                                                   between(1U, most_length)};

// One request of a list.
Request read_one(Section& entry, const RequestNeeds& needs,
                 std::map<std::string, std::uint32_t>& prefixes) {
  Request request;
  request.arrival = at_key.read(entry);
  if (!needs.of_language) {
    request.samples = own_samples.read(entry).value_or(1);
    return request;
  }
  request.prompt = std::max(1U, own_prompt.read(entry));
  request.generate = std::max(1U, own_generate.read(entry));
  if (entry.has("prefix")) {
    const std::string name = own_prefix.read(entry).value_or("");
    request.prefix = prefixes.emplace(name, prefixes.size() + 1).first->second;
    request.prefix_tokens = own_prefix_tokens.read(entry);
    if (request.prefix_tokens > request.prompt) {
      entry.error("prefix_tokens", "more than the prompt has");
    }
  }
  return request;
}

Made make_list(Section& section, const RequestNeeds& needs) {
  refuse_endless(section, needs);
  std::vector<Section> entries = section.sections(list_key.key());
  if (entries.empty()) {
    section.raw(list_key.key());
    section.error("list", "expected a list of at least one request");
    return nullptr;
  }
  std::map<std::string, std::uint32_t> prefixes;
  std::vector<Request> requests;
  for (Section& entry : entries) {
    requests.push_back(read_one(entry, needs, prefixes));
  }
  std::stable_sort(requests.begin(), requests.end(),
                   [](const Request& a, const Request& b) { return a.arrival < b.arrival; });
  return std::make_unique<Listed>(std::move(requests));
}

ParameterInfo of_foreground(ParameterInfo count) {
  count.help += "; none for a tenant in the background";
  return where_used(std::move(count));
}

std::vector<ParameterInfo> with_shape(std::vector<ParameterInfo> own) {
  const std::vector<ParameterInfo> all{where_used(prompt_key.key), where_used(generate_key.key),
                                       prefix_tokens, prefix_count, samples_key.key};
  own.insert(own.end(), all.begin(), all.end());
  return own;
}

const Registration fixed(arrivals(),
                         {"fixed", "one request after the other at even times",
                          with_shape({count_key, interval_key, begin_key})},
                         make_fixed);
const Registration poisson(arrivals(),
                           {"poisson", "requests that arrive independently of each other",
                            with_shape({count_key, rate_key})},
                           make_poisson);
const Registration closed(arrivals(),
                          {"closed", "clients that each ask again when they have been served",
                           with_shape({of_foreground(count_key), clients_key})},
                          make_closed);
const Registration list(arrivals(),
                        {"list",
                         "each request as given",
                         {list_key, at_key, where_used(own_prompt), where_used(own_generate),
                          own_prefix, where_used(own_prefix_tokens), own_samples}},
                        make_list);

}  // namespace

Registry<ArrivalMaker>& arrivals() {
  static Registry<ArrivalMaker> registry("arrivals");
  return registry;
}

namespace {

const config::NameKey kind_key{"requests.arrivals", [] { return arrivals().names(); }, "",
                               "kind of arrivals, with its keys beside"};

}  // namespace

ParameterInfo arrivals_parameter() {
  return kind_key;
}

std::unique_ptr<RequestSource> read_requests(config::Section section, const RequestNeeds& needs) {
  const std::string kind = kind_key.read(section);
  if (!arrivals().contains(kind)) {
    for (const std::string& key : section.keys()) {
      section.raw(key);
    }
    return nullptr;
  }
  return arrivals().at(kind)(section, needs);
}

}  // namespace tessera::serving
