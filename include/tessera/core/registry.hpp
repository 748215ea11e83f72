// Named, interchangeable parts: a network model, a topology, a collective algorithm.
//
// A part is one .cpp that holds its class and one `Registration`; nothing else lists it. The names
// feed the error message for an unknown one and `tessera list`.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"

namespace tessera {

// What a user may set on a part, as config::Key declares it: shown by `tessera list`.
struct ParameterInfo {
  std::string name;  // with the sections that it is in: "experts.count"
  std::string unit;  // "B", "ps", "B/s", or "" for a bare number or name
  std::string
      default_value;  // as it would stand in YAML, or words where it is no value; empty: none
  std::string help;
  // Whether it is about what a run costs or shows, so that results are the same whatever it says.
  bool is_cost = false;
  std::string type{};  // "integer", "size", "name", ...; empty: not declared
  std::string low{};  // least and most that it may be, as they would stand in YAML; empty: no limit
  std::string high{};
  std::vector<std::string> names{};  // all that it may be; empty: not of a list
  bool is_required = false;
  bool is_value = false;  // the default is a value of the type, not words
};

// One part of a registry, as `tessera list` prints it.
struct PartInfo {
  std::string name;
  std::string help;
  std::vector<ParameterInfo> parameters;
};

// All parts of one kind. `Maker` is any callable type, e.g. std::function<unique_ptr<X>(Setup&)>.
// Filled during static initialisation, read-only afterwards.
template <class Maker>
class Registry {
 public:
  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  void add(PartInfo info, Maker maker) {
    const std::string name = info.name;
    if (!parts_.emplace(name, Part{std::move(info), std::move(maker)}).second) {
      throw InternalError("two " + kind_ + " parts are called '" + name + "'");
    }
  }
  bool contains(std::string_view name) const { return parts_.find(name) != parts_.end(); }
  // Throws ConfigError with the known names and the nearest match.
  const Maker& at(std::string_view name) const {
    const auto found = parts_.find(name);
    if (found == parts_.end()) {
      throw ConfigError(unknown_name(kind_, name, names()));
    }
    return found->second.maker;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& [name, part] : parts_) {
      result.push_back(name);
    }
    return result;
  }
  std::vector<PartInfo> infos() const {
    std::vector<PartInfo> result;
    for (const auto& [name, part] : parts_) {
      result.push_back(part.info);
    }
    return result;
  }
  const std::string& kind() const { return kind_; }

 private:
  struct Part {
    PartInfo info;
    Maker maker;
  };
  std::string kind_;
  std::map<std::string, Part, std::less<>> parts_;
};

// Adds a part when the program starts: `const Registration r(network_models(), {...}, make);`
struct Registration {
  template <class Maker, class Callable>
  Registration(Registry<Maker>& registry, PartInfo info, Callable maker) {
    registry.add(std::move(info), Maker(std::move(maker)));
  }
};

}  // namespace tessera
