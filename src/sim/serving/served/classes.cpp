#include "serving/served/classes.hpp"

#include <set>

#include "tessera/config/key.hpp"
#include "tessera/config/name.hpp"

namespace tessera::sim {
namespace {

using config::Section;
using executor::Targets;

constexpr std::size_t most_classes = 64;
constexpr std::int32_t most_priority = 1'000'000;

const char* const as_model = "that of the served model";

struct ClassKeys {
  config::OtherKey classes{"classes", "list", "none",
                           "classes of requests to a language model, which differ in priority "
                           "and targets"};
  config::RequiredKey<std::string> name{"classes[].name",
                                        "name of the class, without commas and slashes"};
  config::Key<std::int32_t> priority{"classes[].priority", 0,
                                     "priority, smallest first, with batching.order: priority",
                                     config::between(-most_priority, most_priority)};
  config::Key<double> share{"classes[].share", serving::RequestClass{}.share,
                            "weight of the class among all classes, for requests that do not "
                            "state one",
                            config::between(1e-6, 1e6)};
  config::DerivedKey<SimTime> first_token{"classes[].target.first_token", as_model,
                                          "target for the time from arrival to the first token",
                                          config::at_least(SimTime::from_ps(1))};
  config::DerivedKey<SimTime> between_tokens{"classes[].target.between_tokens", as_model,
                                             "target for the mean time between tokens",
                                             config::at_least(SimTime::from_ps(1))};
  config::DerivedKey<SimTime> latency{"classes[].target.latency", as_model,
                                      "target for the time from arrival to end",
                                      config::at_least(SimTime::from_ps(1))};
  config::ChoiceKey<bool> order{
      "batching.order",
      {{"first-come", false}, {"priority", true}},
      "first-come",
      "order in which requests are admitted and, from its end, preempted; priority: by the "
      "priority of their class, then by arrival"};
};

const ClassKeys& class_keys() {
  static const ClassKeys keys;
  return keys;
}

Targets read_targets_of(Section section, const Targets& usual) {
  const ClassKeys& keys = class_keys();
  return {keys.first_token.read(section, usual.first_token),
          keys.between_tokens.read(section, usual.between_tokens),
          keys.latency.read(section, usual.latency)};
}

}  // namespace

std::vector<ParameterInfo> class_parameters() {
  const ClassKeys& keys = class_keys();
  return {keys.classes,     keys.name,           keys.priority, keys.share,
          keys.first_token, keys.between_tokens, keys.latency,  keys.order};
}

std::vector<serving::RequestClass> read_classes(Section& tenant, bool of_language) {
  if (!tenant.has("classes")) {
    return {};
  }
  std::vector<Section> sections = tenant.sections("classes");
  if (!of_language) {
    tenant.error("classes", "are of requests to language models");
  }
  if (sections.empty() || sections.size() > most_classes) {
    tenant.raw("classes");
    tenant.error("classes", "expected a list of 1 to " + std::to_string(most_classes) + " classes");
    return {};
  }
  const ClassKeys& keys = class_keys();
  std::vector<serving::RequestClass> classes;
  std::set<std::string> names;
  for (Section& section : sections) {
    serving::RequestClass& one = classes.emplace_back();
    one.name = config::checked_name(section, "name", keys.name.read(section));
    if (one.name.find(',') != std::string::npos) {
      section.error("name", "a class's name has no comma");
    }
    if (!names.insert(one.name).second) {
      section.error("name", "two classes are called '" + one.name + "'");
    }
    one.priority = keys.priority.read(section);
    one.share = keys.share.read(section);
  }
  return classes;
}

void read_class_settings(Section& tenant, const std::vector<serving::RequestClass>& classes,
                         executor::ServiceSettings& served) {
  if (served.of_language) {
    Section batching = tenant.section("batching");
    if (class_keys().order.read(batching)) {
      for (const serving::RequestClass& one : classes) {
        served.batching.priorities.push_back(one.priority);
      }
      if (!tenant.has("classes")) {
        batching.error("order", "the tenant has no 'classes' with priorities");
      }
    }
  }
  if (classes.empty()) {
    return;
  }
  std::vector<Section> sections = tenant.sections("classes");
  for (std::size_t number = 0; number < classes.size(); ++number) {
    served.classes.push_back(
        {classes[number].name,
         sections[number].has("target")
             ? read_targets_of(sections[number].section("target"), served.targets)
             : served.targets});
  }
}

}  // namespace tessera::sim
