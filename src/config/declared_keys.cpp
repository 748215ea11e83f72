#include "declared_keys.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tessera::config {
namespace {

constexpr std::string_view any_name = "NAME";  // stands for names of the user's own
constexpr std::string_view list_mark = "[]";   // behind a key whose value is a list of mappings

std::string_view first_of(std::string_view name) {
  std::string_view first = name.substr(0, name.find('.'));
  if (first.ends_with(list_mark)) {
    first.remove_suffix(list_mark.size());
  }
  return first;
}

void add_all(SectionInfo& section, const SectionInfo& more) {
  std::copy(more.parameters.begin(), more.parameters.end(), std::back_inserter(section.parameters));
  std::copy(more.sections.begin(), more.sections.end(), std::back_inserter(section.sections));
}

// Puts the keys of the choice that `value` makes beside those of the section.
void take_choice(SectionInfo& section, const Value* value) {
  if (section.selector.empty()) {
    return;
  }
  const Value::Member* const given = value != nullptr ? value->find(section.selector) : nullptr;
  const std::vector<SectionInfo> choices = std::exchange(section.choices, {});
  const std::vector<SectionInfo> otherwise = std::exchange(section.otherwise, {});
  const std::string& name = given != nullptr ? given->value.text : section.usual;
  if (given == nullptr && name.empty()) {
    std::for_each(otherwise.begin(), otherwise.end(),
                  [&](const SectionInfo& each) { add_all(section, each); });
  }
  for (const SectionInfo& choice : choices) {
    if (choice.name == name) {
      SectionInfo taken = choice;
      take_choice(taken, value);
      add_all(section, taken);
    }
  }
}

// What the section declares for its key: a section with that name, and keys with dotted names.
SectionInfo below(const SectionInfo& section, const std::string& key) {
  SectionInfo found;
  for (const SectionInfo& part : section.sections) {
    if (part.name == key) {
      found = part;
    }
  }
  for (const ParameterInfo& parameter : section.parameters) {
    const std::string_view first = first_of(parameter.name);
    const std::size_t dot = parameter.name.find('.');
    if (dot != std::string::npos && (first == key || first == any_name)) {
      found.parameters.push_back(parameter);
      found.parameters.back().name = parameter.name.substr(dot + 1);
    }
  }
  return found;
}

}  // namespace

DeclaredKeys::DeclaredKeys(std::function<SectionInfo()> file, std::shared_ptr<const Value> value)
    : file_(std::move(file)), value_(std::move(value)) {}

DeclaredKeys::DeclaredKeys(std::shared_ptr<const DeclaredKeys> around, std::string_view key,
                           std::shared_ptr<const Value> value)
    : around_(std::move(around)), key_(key), value_(std::move(value)) {}

const SectionInfo& DeclaredKeys::info() const {
  if (!info_) {
    info_ = make_info();
  }
  return *info_;
}

SectionInfo DeclaredKeys::make_info() const {
  SectionInfo section;
  if (file_) {
    section = file_();
  } else if (const SectionInfo& around = around_->info(); around.shape == SectionInfo::Shape::map) {
    section = around;
    section.shape = SectionInfo::Shape::mapping;  // one of those with names of the user's own
  } else {
    section = below(around, key_);
  }
  if (section.shape == SectionInfo::Shape::list) {
    section.shape = SectionInfo::Shape::mapping;  // an item of it
  }
  if (section.shape == SectionInfo::Shape::mapping) {
    take_choice(section, value_.get());
  }
  return section;
}

std::vector<std::string> DeclaredKeys::keys() const {
  const SectionInfo& section = info();
  std::vector<std::string> keys;
  const auto add = [&](std::string_view key) {
    if (!key.empty() && key != any_name && std::find(keys.begin(), keys.end(), key) == keys.end()) {
      keys.emplace_back(key);
    }
  };
  if (section.shape == SectionInfo::Shape::map) {
    return keys;
  }
  add(section.selector);
  for (const ParameterInfo& parameter : section.parameters) {
    add(first_of(parameter.name));
  }
  for (const SectionInfo& part : section.sections) {
    add(part.name);
  }
  return keys;
}

}  // namespace tessera::config
