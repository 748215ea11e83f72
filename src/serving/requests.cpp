#include <algorithm>
#include <map>
#include <utility>

#include "requests/rounded_time.hpp"
#include "requests/shape.hpp"
#include "requests/timed.hpp"
#include "requests/too_long.hpp"
#include "tessera/config/conditional_key.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/serving/language_model.hpp"
#include "tessera/serving/request.hpp"
#include "tessera/serving/request_class.hpp"

namespace tessera::serving {
namespace {

using config::between;
using config::Key;
using config::OptionalKey;
using config::OtherKey;
using config::RequiredKey;
using config::Section;
using config::where_used;

// How long clients of a closed loop wait.
struct Thinking {
  SimTime mean;
  bool at_random = false;
};

class Closed final : public RequestSource {
 public:
  Closed(RequestShape shape, std::uint32_t clients, std::optional<std::uint64_t> count,
         const Thinking& thinking)
      : shape_(std::move(shape)), clients_(clients), count_(count), thinking_(thinking) {}
  std::optional<std::uint64_t> count() const override { return count_; }
  Request request(std::uint64_t number) const override {
    return shape_.at(number, SimTime::zero());
  }
  std::uint32_t clients() const override { return clients_; }
  SimTime think(std::uint64_t number) const override {
    if (!thinking_.at_random) {
      return thinking_.mean;
    }
    const double seconds =
        random_of(shape_.seed, number, Draw::think).next_exponential(thinking_.mean.seconds());
    return SimTime::from_ps(static_cast<std::int64_t>(std::min(longest_run, seconds) * 1e12));
  }
  std::span<const std::uint32_t> pieces(std::uint64_t number) const override {
    return shape_.pieces(number);
  }
  std::uint32_t piece_tokens() const override { return shape_.piece_tokens(); }
  bool shares_beginnings() const override { return shape_.shares_beginnings(); }
  std::uint32_t class_of(std::uint64_t number) const override { return shape_.class_of(number); }
  std::size_t resident_bytes() const override { return shape_.resident_bytes(); }
  bool is_drawn() const override { return shape_.is_drawn() || thinking_.at_random; }
  std::vector<std::string> notes() const override { return shape_.notes; }
  Request largest() const override { return shape_.largest(); }
  std::vector<std::uint32_t> samples() const override {
    std::vector<std::uint32_t> all;
    for (std::uint32_t samples = shape_.samples.least; samples <= shape_.samples.most; ++samples) {
      all.push_back(samples);
    }
    return all;
  }

 private:
  RequestShape shape_;
  std::uint32_t clients_;
  std::optional<std::uint64_t> count_;
  Thinking thinking_;
};

using Made = std::unique_ptr<RequestSource>;

const Key<SimTime> interval_key{"interval", SimTime::zero(), "time between two requests"};
const Key<SimTime> begin_key{"begin", SimTime::zero(), "arrival of the first request"};

// One after the other.
struct EvenTimes {
  SimTime time;
  SimTime gap;

  std::optional<SimTime> next() {
    const SimTime now = time;
    time += gap;
    return now;
  }
};

Made make_fixed(Section& section, const RequestNeeds& needs) {
  refuse_endless(section, needs);
  RequestShape shape = read_shape(section, needs);
  const std::uint64_t count = count_key().read(section);
  const SimTime gap = read_rounded(section, interval_key);
  const SimTime begin = read_rounded(section, begin_key);
  if (begin.seconds() + static_cast<double>(count) * gap.seconds() > longest_run) {
    section.error("interval", "the last request arrives after more than 9 * 10^6 s");
    return nullptr;
  }
  const bool is_drawn = shape.is_drawn();
  return TimedRequests<EvenTimes>::make(std::move(shape), count, {begin, gap}, is_drawn);
}

const Key<std::uint32_t> clients_key{"clients", 1, "clients, each with one request at a time",
                                     between(1U, 1U << 20)};

constexpr SimTime longest_think = SimTime::from_ps(1'000'000'000'000'000'000);
const Key<SimTime> think_key{"think", SimTime::zero(),
                             "mean time between an answer and the client's next request",
                             between(SimTime::zero(), longest_think)};
const config::ChoiceKey<bool> think_times{"think_times",
                                          {{"exponential", true}, {"fixed", false}},
                                          "exponential",
                                          "distribution of think times: exponential, or fixed: "
                                          "all the same"};

Made make_closed(Section& section, const RequestNeeds& needs) {
  RequestShape shape = read_shape(section, needs);
  const std::uint32_t clients = clients_key.read(section);
  Thinking thinking;
  thinking.mean = read_rounded(section, think_key, longest_think);
  const bool is_exponential = think_times.read(section);
  thinking.at_random = is_exponential && thinking.mean > SimTime::zero();
  if (!is_exponential && thinking.mean == SimTime::zero()) {
    config::note_without_effect(section, think_times.key(), "think: 0 s");
  }
  std::optional<std::uint64_t> count;
  if (!needs.endless) {
    count = count_key().read(section);
  } else if (section.has("count")) {
    section.raw("count");
    section.error("count", "a tenant in the background asks until the others are served");
  }
  return std::make_unique<Closed>(std::move(shape), clients, count, thinking);
}

const OtherKey list_key{"list", "list or file", "",
                        "the requests, or a CSV, YAML or JSON file that lists them"};
const RequiredKey<SimTime> at_key{"list[].at", "time of arrival"};
const OptionalKey<std::uint32_t> own_samples{
    "list[].samples", "1", "samples of a request to a model other than a language model",
    between(1U, most_samples)};
const RequiredKey<std::uint32_t> own_prompt{"list[].prompt", "tokens", between(1U, most_keys)};
const RequiredKey<std::uint32_t> own_generate{"list[].generate", "tokens", between(1U, most_keys)};
const OptionalKey<std::string> own_prefix{"list[].prefix", "none",
                                          "name of a prefix that the prompt shares with others"};
const OptionalKey<std::uint32_t> own_adapter{"list[].adapter", "drawn",
                                             "number of the tenant's adapter that is used, from "
                                             "1 on",
                                             between(1U, most_adapters)};
const OptionalKey<std::string> own_class{"list[].class", "drawn by shares",
                                         "class of the request, one of the tenant's classes"};
const RequiredKey<std::uint32_t> own_prefix_tokens{"list[].prefix_tokens", "tokens of the prefix",
                                                   between(1U, most_keys)};

// Of one of the tenant's classes; 0 after a complaint.
std::uint32_t read_class(Section& entry, const RequestNeeds& needs) {
  const std::string name = own_class.read(entry).value_or("");
  const std::uint32_t number = class_number(needs.classes, name);
  if (number == 0) {
    entry.error("class", "'" + name + "' is none of the tenant's classes");
  }
  return number;
}

// One request of a list.
Request read_one(Section& entry, const RequestNeeds& needs,
                 std::map<std::string, std::uint32_t>& prefixes) {
  Request request;
  request.arrival = read_rounded(entry, at_key);
  if (!needs.of_language) {
    request.samples = own_samples.read(entry).value_or(1);
    return request;
  }
  request.prompt = std::max(1U, own_prompt.read(entry));
  request.generate = std::max(1U, own_generate.read(entry));
  if (entry.has("adapter")) {
    request.adapter = own_adapter.read(entry).value_or(0);
    if (request.adapter > needs.adapters) {
      entry.error("adapter", "the tenant has " + std::to_string(needs.adapters) + " adapters");
    }
  }
  if (entry.has("class")) {
    request.of_class = read_class(entry, needs);
  }
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
  auto requests = std::make_unique<RequestTable>();
  LengthLimit limit(needs, too_long_key().read(section));
  for (Section& entry : entries) {
    Request request = read_one(entry, needs, prefixes);
    if (const auto complaint = limit.complaint(request)) {
      entry.error("prompt", *complaint);
    } else if (limit.take(request)) {
      requests->add(request);
    }
  }
  if (requests->count() == 0U) {
    if (limit.note()) {
      section.error("list",
                    "all requests are left out: they have more tokens than the model takes");
    }
    return nullptr;
  }
  if (const auto note = limit.note()) {
    requests->add_note(*note);
  }
  requests->finish(false);
  return requests;
}

ParameterInfo of_foreground(ParameterInfo count) {
  count.help += "; none for a background tenant";
  return where_used(std::move(count));
}

const Registration fixed(arrivals(),
                         {"fixed", "requests at regular intervals",
                          with_shape({count_key(), interval_key, begin_key})},
                         make_fixed);
const Registration closed(arrivals(),
                          {"closed",
                           "clients that each send their next request when the last "
                           "one has been served",
                           with_shape({of_foreground(count_key()), clients_key, think_key,
                                       think_times})},
                          make_closed);
const Registration list(arrivals(),
                        {"list",
                         "requests listed one by one",
                         {list_key, at_key, where_used(own_prompt), where_used(own_generate),
                          own_prefix, where_used(own_prefix_tokens), own_class, own_adapter,
                          own_samples, too_long_key()}},
                        make_list);

}  // namespace

Registry<ArrivalMaker>& arrivals() {
  static Registry<ArrivalMaker> registry("arrivals");
  return registry;
}

namespace {

const config::NameKey kind_key{"requests.arrivals", [] { return arrivals().names(); }, "",
                               "kind of arrivals; its keys are given beside it"};

}  // namespace

ParameterInfo arrivals_parameter() {
  return kind_key;
}

namespace {

// Of requests whose times are known by their numbers.
class KnownTimes final : public ArrivalTimes {
 public:
  KnownTimes(const RequestSource& requests, std::uint64_t number)
      : requests_(requests), number_(number) {}
  SimTime next() override { return requests_.request(number_++).arrival; }

 private:
  const RequestSource& requests_;
  std::uint64_t number_;
};

}  // namespace

std::unique_ptr<ArrivalTimes> RequestSource::times_from(std::uint64_t number) const {
  return std::make_unique<KnownTimes>(*this, number);
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
