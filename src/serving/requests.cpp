#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tessera/core/random.hpp"
#include "tessera/serving/language_model.hpp"
#include "tessera/serving/request.hpp"

namespace tessera::serving {
namespace {

using config::Section;

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

Count read_count(Section& section, const char* key, std::int64_t most) {
  const auto range = config::between<std::int64_t>(1, most);
  if (section.has(key) && section.raw(key).kind == config::Value::Kind::sequence) {
    const auto ends = section.get_list<std::int64_t>(key);
    const bool good = ends.size() == 2 && ends[0] >= 1 && ends[0] <= ends[1] && ends[1] <= most;
    if (!good) {
      section.error(key, "expected a number or [LEAST, MOST], from 1 to " + std::to_string(most));
      return {};
    }
    return {static_cast<std::uint32_t>(ends[0]), static_cast<std::uint32_t>(ends[1])};
  }
  const auto count =
      static_cast<std::uint32_t>(std::max<std::int64_t>(1, section.get<std::int64_t>(key, range)));
  return {count, count};
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

constexpr std::int64_t most_length = most_keys;

Shape read_shape(Section& section, const RequestNeeds& needs) {
  Shape shape;
  shape.seed = needs.seed;
  shape.of_language = needs.of_language;
  if (!needs.of_language) {
    if (section.has("samples")) {
      shape.samples = read_count(section, "samples", 1 << 16);
    }
    return shape;
  }
  shape.prompt = read_count(section, "prompt", most_length);
  shape.generate = read_count(section, "generate", most_length);
  if (section.has("prefix")) {
    Section prefix = section.section("prefix");
    shape.prefix_tokens = static_cast<std::uint32_t>(
        prefix.get<std::int64_t>("tokens", config::between<std::int64_t>(1, most_length)));
    shape.prefixes = static_cast<std::uint32_t>(
        prefix.get_or<std::int64_t>("count", 1, config::between<std::int64_t>(1, 1 << 20)));
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

std::uint64_t read_number(Section& section) {
  return static_cast<std::uint64_t>(
      section.get<std::int64_t>("count", config::between<std::int64_t>(1, most_requests)));
}

void refuse_endless(Section& section, const RequestNeeds& needs) {
  if (needs.endless) {
    section.error("arrivals", "a tenant in the background has closed arrivals");
  }
}

Made make_fixed(Section& section, const RequestNeeds& needs) {
  refuse_endless(section, needs);
  const Shape shape = read_shape(section, needs);
  const std::uint64_t count = read_number(section);
  const auto interval = section.get_or<SimTime>("interval", SimTime::zero());
  const auto begin = section.get_or<SimTime>("begin", SimTime::zero());
  if (begin.seconds() + static_cast<double>(count) * interval.seconds() > longest_run) {
    section.error("interval", "the last request arrives after more than 10^6 s");
    return nullptr;
  }
  std::vector<Request> requests;
  for (std::uint64_t number = 0; number < count; ++number) {
    requests.push_back(shape.at(number, begin + interval * static_cast<std::int64_t>(number)));
  }
  return std::make_unique<Listed>(std::move(requests));
}

Made make_poisson(Section& section, const RequestNeeds& needs) {
  refuse_endless(section, needs);
  const Shape shape = read_shape(section, needs);
  const std::uint64_t count = read_number(section);
  const auto rate = section.get<double>("rate", config::between(1e-3, 1e9));
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

Made make_closed(Section& section, const RequestNeeds& needs) {
  const Shape shape = read_shape(section, needs);
  const auto clients = static_cast<std::uint32_t>(
      section.get_or<std::int64_t>("clients", 1, config::between<std::int64_t>(1, 1 << 20)));
  std::optional<std::uint64_t> count;
  if (!needs.endless) {
    count = read_number(section);
  } else if (section.has("count")) {
    section.raw("count");
    section.error("count", "a tenant in the background asks until the others are served");
  }
  return std::make_unique<Closed>(shape, clients, count);
}

// One request of a list.
Request read_one(Section& entry, const RequestNeeds& needs,
                 std::map<std::string, std::uint32_t>& prefixes) {
  const auto whole = [&](const char* key, std::int64_t most) {
    return static_cast<std::uint32_t>(
        entry.get<std::int64_t>(key, config::between<std::int64_t>(1, most)));
  };
  Request request;
  request.arrival = entry.get<SimTime>("at");
  if (!needs.of_language) {
    request.samples = entry.has("samples") ? whole("samples", 1 << 16) : 1;
    return request;
  }
  request.prompt = std::max(1U, whole("prompt", most_length));
  request.generate = std::max(1U, whole("generate", most_length));
  if (entry.has("prefix")) {
    const auto name = entry.get<std::string>("prefix");
    request.prefix = prefixes.emplace(name, prefixes.size() + 1).first->second;
    request.prefix_tokens = whole("prefix_tokens", most_length);
    if (request.prefix_tokens > request.prompt) {
      entry.error("prefix_tokens", "more than the prompt has");
    }
  }
  return request;
}

Made make_list(Section& section, const RequestNeeds& needs) {
  refuse_endless(section, needs);
  std::vector<Section> entries = section.sections("list");
  if (entries.empty()) {
    section.raw("list");
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

std::vector<ParameterInfo> with_shape(std::vector<ParameterInfo> own) {
  std::vector<ParameterInfo> all{
      {"prompt", "", "", "tokens of a prompt: a number, or [LEAST, MOST]"},
      {"generate", "", "", "tokens to generate: a number, or [LEAST, MOST]"},
      {"prefix.tokens", "", "", "tokens before each prompt that requests share"},
      {"prefix.count", "", "1", "different prefixes, one for each request at random"},
      {"samples", "", "1", "of models that are no language models"}};
  own.insert(own.end(), all.begin(), all.end());
  return own;
}

const Registration fixed(arrivals(),
                         {"fixed", "one request after the other at even times",
                          with_shape({{"count", "", "", "requests"},
                                      {"interval", "ps", "0 ps", "between two of them"},
                                      {"begin", "ps", "0 ps", "arrival of the first"}})},
                         make_fixed);
const Registration poisson(arrivals(),
                           {"poisson", "requests that arrive independently of each other",
                            with_shape({{"count", "", "", "requests"},
                                        {"rate", "", "", "requests a second, on average"}})},
                           make_poisson);
const Registration closed(arrivals(),
                          {"closed", "clients that each ask again when they have been served",
                           with_shape({{"count", "", "",
                                        "requests; none for a tenant in the background"},
                                       {"clients", "", "1", "requests under way at a time"}})},
                          make_closed);
const Registration list(arrivals(),
                        {"list",
                         "each request as given",
                         {{"list", "", "", "requests, or a CSV, YAML or JSON file of them"},
                          {"list.at", "ps", "", "arrival"},
                          {"list.prompt", "", "", "tokens"},
                          {"list.generate", "", "", "tokens"},
                          {"list.prefix", "", "none",
                           "name of the prompt's beginning, which others share"},
                          {"list.prefix_tokens", "", "", "its length"},
                          {"list.samples", "", "1", "of models that are no language models"}}},
                        make_list);

}  // namespace

Registry<ArrivalMaker>& arrivals() {
  static Registry<ArrivalMaker> registry("arrivals");
  return registry;
}

std::unique_ptr<RequestSource> read_requests(config::Section section, const RequestNeeds& needs) {
  const std::string kind = section.get_name("arrivals", arrivals().names());
  if (!arrivals().contains(kind)) {
    for (const std::string& key : section.keys()) {
      section.raw(key);
    }
    return nullptr;
  }
  return arrivals().at(kind)(section, needs);
}

}  // namespace tessera::serving
