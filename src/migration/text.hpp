// Texts that formats write: YAML with where numbers come from behind them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"

namespace tessera::migration {

// A line of YAML, or several, that begin with "# "; what is no printable text becomes '?'.
std::string comment(const std::string& text);

// The last part of a path.
std::string file_name(const std::string& path);

// "system.json:3".
std::string origin_of(const config::Place& place);

// A path as files in `folder` name it.
std::string named_from(const std::string& folder, const std::string& path);

// As YAML reads it back as a text.
std::string yaml_text(const std::string& text);

// "[a, b]".
std::string list_of(const std::vector<std::string>& items);
std::string list_of(const std::vector<std::int64_t>& items);

// Lines of a document.
class YamlLines {
 public:
  // `because` stands behind it as a comment; empty: none.
  void add(int indent, const std::string& line, const std::string& because = "");
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace tessera::migration
