// What a file may hold: sections with their keys, some of which depend on a name that is chosen
// (`model: flit`). Made of what parts declare (ParameterInfo), for editors and scripts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tessera/core/registry.hpp"

namespace tessera {

struct SectionInfo {
  enum class Shape {
    mapping,
    list,  // of such mappings
    map,   // of such mappings, by names of the user's own
  };

  std::string name;  // its key; of a root: its title; of a choice: the name chosen
  std::string help;
  std::vector<ParameterInfo> parameters;
  Shape shape = Shape::mapping;
  bool is_required = false;
  bool may_be_file = false;  // or the path of a file that holds it
  bool is_open = false;      // has keys that nobody declares
  // The key whose name chooses one of `choices`, whose keys stand beside it; empty: none does.
  std::string selector;
  std::string usual;  // chosen where the selector is left out; empty: it must be given
  std::vector<SectionInfo> choices;
  // At most one: what stands there where the selector is left out, which it may be then.
  std::vector<SectionInfo> otherwise;
  bool keeps_others = false;  // keys of choices that are not taken may stand there
  std::vector<SectionInfo> sections;
};

inline SectionInfo section_of_keys(std::string name, std::string help,
                                   std::vector<ParameterInfo> parameters) {
  SectionInfo section;
  section.name = std::move(name);
  section.help = std::move(help);
  section.parameters = std::move(parameters);
  return section;
}

// A choice: the keys of a part, beside the selector that names it.
inline SectionInfo choice_of(const PartInfo& part) {
  return section_of_keys(part.name, part.help, part.parameters);
}

// `selector: NAME` and the keys of that part beside it.
inline SectionInfo section_of_parts(std::string name, std::string help, std::string selector,
                                    std::string usual, const std::vector<PartInfo>& parts) {
  SectionInfo section;
  section.name = std::move(name);
  section.help = std::move(help);
  section.selector = std::move(selector);
  section.usual = std::move(usual);
  for (const PartInfo& part : parts) {
    section.choices.push_back(choice_of(part));
  }
  return section;
}

// Where the selector is declared as that of the section ("network.model").
inline SectionInfo section_of_parts(const ParameterInfo& selector,
                                    const std::vector<PartInfo>& parts) {
  const std::size_t dot = selector.name.find('.');
  return section_of_parts(selector.name.substr(0, dot), selector.help,
                          selector.name.substr(dot + 1), selector.default_value, parts);
}

}  // namespace tessera
