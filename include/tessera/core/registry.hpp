// Named, interchangeable parts: a network model, a topology, a collective algorithm.
//
// A part is one .cpp that holds its class and one `Registration`; nothing else lists it. The names
// feed the error message for an unknown one and `tessera list`.
//
// There are hundreds of declarations: what can be is compiled once, in registry.cpp, down to
// copies of these structures.
#pragma once

#include <cstddef>
#include <deque>
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
  ParameterInfo();
  ParameterInfo(std::string its_name, std::string its_unit, std::string usual,
                std::string its_help);
  ParameterInfo(const ParameterInfo& other);
  ParameterInfo(ParameterInfo&& other) noexcept;
  ParameterInfo& operator=(const ParameterInfo& other);
  ParameterInfo& operator=(ParameterInfo&& other) noexcept;
  ~ParameterInfo();

  std::string name;  // with the sections that it is in: "experts.count"
  std::string unit;  // "B", "ps", "B/s", or "" for a bare number or name
  std::string
      default_value;  // as it would stand in YAML, or words where it is no value; empty: none
  std::string help;
  // Whether it is about what a run costs or shows, so that results are the same whatever it says.
  bool is_cost = false;
  std::string type;  // "integer", "size", "name", ...; empty: not declared
  std::string low;   // least and most that it may be, as they would stand in YAML; empty: no limit
  std::string high;
  std::vector<std::string> names;  // all that it may be; empty: not of a list
  bool is_required = false;
  bool is_value = false;  // the default is a value of the type, not words
  std::string_view
      source;  // the file that declares it, from the root of its tree; empty: not known
};

// One part of a registry, as `tessera list` prints it.
struct PartInfo {
  PartInfo();
  PartInfo(std::string its_name, std::string its_help,
           std::vector<ParameterInfo> its_parameters = {});
  PartInfo(const PartInfo& other);
  PartInfo(PartInfo&& other) noexcept;
  PartInfo& operator=(const PartInfo& other);
  PartInfo& operator=(PartInfo&& other) noexcept;
  ~PartInfo();

  std::string name;
  std::string help;
  std::vector<ParameterInfo> parameters;
};

// The names of all parts of one kind, whatever makes them.
class NamedParts {
 public:
  explicit NamedParts(std::string kind);
  ~NamedParts();
  NamedParts(const NamedParts&) = delete;
  NamedParts& operator=(const NamedParts&) = delete;

  bool contains(std::string_view name) const;
  std::vector<std::string> names() const;
  std::vector<PartInfo> infos() const;
  const std::string& kind() const { return kind_; }

 protected:
  // Numbers parts from 0 on. Throws InternalError where there is one of that name.
  void add(PartInfo info);
  // Throws ConfigError with the known names and the nearest match.
  std::size_t number_of(std::string_view name) const;

 private:
  struct Part {
    PartInfo info;
    std::size_t number = 0;
  };
  std::string kind_;
  std::map<std::string, Part, std::less<>> parts_;
};

// All parts of one kind. `Maker` is any callable type, e.g. std::function<unique_ptr<X>(Setup&)>.
// Filled during static initialisation, read-only afterwards.
template <class Maker>
class Registry : public NamedParts {
 public:
  using NamedParts::NamedParts;

  void add(PartInfo info, Maker maker) {
    NamedParts::add(std::move(info));
    makers_.push_back(std::move(maker));
  }
  // Throws ConfigError with the known names and the nearest match.
  const Maker& at(std::string_view name) const { return makers_[number_of(name)]; }

 private:
  std::deque<Maker> makers_;  // by their numbers
};

// Adds a part when the program starts: `const Registration r(network_models(), {...}, make);`
struct Registration {
  template <class Maker, class Callable>
  Registration(Registry<Maker>& registry, PartInfo info, Callable maker) {
    registry.add(std::move(info), Maker(std::move(maker)));
  }
};

}  // namespace tessera
