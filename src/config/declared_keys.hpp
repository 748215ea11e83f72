// What is declared for a section of a document, for complaints about keys that are not known.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/section_info.hpp"

namespace tessera::config {

class DeclaredKeys {
 public:
  // Of the section of a whole file, whose value may be null; declarations are asked for when
  // needed.
  DeclaredKeys(std::function<SectionInfo()> file, std::shared_ptr<const Value> value);
  // Of the section `key` of another one, or of an item of the list that stands there.
  DeclaredKeys(std::shared_ptr<const DeclaredKeys> around, std::string_view key,
               std::shared_ptr<const Value> value);

  // In order of declaration, with those of the choice that the document makes; not those of other
  // choices.
  std::vector<std::string> keys() const;

 private:
  // The section with its choice taken; made at the first complaint.
  const SectionInfo& info() const;
  SectionInfo make_info() const;

  std::function<SectionInfo()> file_;           // of a whole file
  std::shared_ptr<const DeclaredKeys> around_;  // of others
  std::string key_;
  std::shared_ptr<const Value> value_;
  mutable std::optional<SectionInfo> info_;
};

}  // namespace tessera::config
