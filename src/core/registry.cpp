#include "tessera/core/registry.hpp"

#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"

namespace tessera {

ParameterInfo::ParameterInfo() = default;
ParameterInfo::ParameterInfo(std::string its_name, std::string its_unit, std::string usual,
                             std::string its_help)
    : name(std::move(its_name)),
      unit(std::move(its_unit)),
      default_value(std::move(usual)),
      help(std::move(its_help)) {}
ParameterInfo::ParameterInfo(const ParameterInfo& other) = default;
ParameterInfo::ParameterInfo(ParameterInfo&& other) noexcept = default;
ParameterInfo& ParameterInfo::operator=(const ParameterInfo& other) = default;
ParameterInfo& ParameterInfo::operator=(ParameterInfo&& other) noexcept = default;
ParameterInfo::~ParameterInfo() = default;

PartInfo::PartInfo() = default;
PartInfo::PartInfo(std::string its_name, std::string its_help,
                   std::vector<ParameterInfo> its_parameters)
    : name(std::move(its_name)), help(std::move(its_help)), parameters(std::move(its_parameters)) {}
PartInfo::PartInfo(const PartInfo& other) = default;
PartInfo::PartInfo(PartInfo&& other) noexcept = default;
PartInfo& PartInfo::operator=(const PartInfo& other) = default;
PartInfo& PartInfo::operator=(PartInfo&& other) noexcept = default;
PartInfo::~PartInfo() = default;

NamedParts::NamedParts(std::string kind) : kind_(std::move(kind)) {}
NamedParts::~NamedParts() = default;

bool NamedParts::contains(std::string_view name) const {
  return parts_.find(name) != parts_.end();
}

std::vector<std::string> NamedParts::names() const {
  std::vector<std::string> result;
  for (const auto& [name, part] : parts_) {
    result.push_back(name);
  }
  return result;
}

std::vector<PartInfo> NamedParts::infos() const {
  std::vector<PartInfo> result;
  for (const auto& [name, part] : parts_) {
    result.push_back(part.info);
  }
  return result;
}

void NamedParts::add(PartInfo info) {
  const std::string name = info.name;
  const std::size_t number = parts_.size();
  if (!parts_.emplace(name, Part{std::move(info), number}).second) {
    throw InternalError("two " + kind_ + " parts are called '" + name + "'");
  }
}

std::size_t NamedParts::number_of(std::string_view name) const {
  const auto found = parts_.find(name);
  if (found == parts_.end()) {
    throw ConfigError(unknown_name(kind_, name, names()));
  }
  return found->second.number;
}

}  // namespace tessera
