#include "tessera/config/document.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "tessera/core/file.hpp"

namespace tessera::config {

void Diagnostics::error(const Place& place, std::string message) {
  diagnostics_.push_back({place.file, place.line, place.column, std::move(message)});
}

void Diagnostics::throw_if_any() const {
  if (diagnostics_.empty()) {
    return;
  }
  std::vector<std::string_view> files;
  std::vector<std::pair<std::size_t, const Diagnostic*>> ordered;
  for (const Diagnostic& diagnostic : diagnostics_) {
    auto file = std::find(files.begin(), files.end(), diagnostic.file);
    if (file == files.end()) {
      file = files.insert(files.end(), diagnostic.file);
    }
    ordered.emplace_back(static_cast<std::size_t>(file - files.begin()), &diagnostic);
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.first, a.second->line, a.second->column) <
           std::tuple(b.first, b.second->line, b.second->column);
  });
  std::vector<Diagnostic> sorted;
  for (const auto& [file, diagnostic] : ordered) {
    sorted.push_back(*diagnostic);
  }
  throw ConfigError(std::move(sorted));
}

const Value::Member* Value::find(std::string_view key) const {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const Member& member) { return member.key == key; });
  return found == members.end() ? nullptr : &*found;
}

std::string load_text_file(const std::string& path) {
  // Logs of long searches are longer than a configuration may be (check_text.cpp).
  constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20;
  return read_regular_file(path, most_bytes);
}

std::string path_beside(const Place& place, const std::string& path) {
  return place.file.starts_with("--set ")
             ? path
             : (std::filesystem::path(place.file).parent_path() / path).lexically_normal().string();
}

std::string load_named(const std::string& path, const TextLoader& load) {
  try {
    return load(path);
  } catch (const IoError& error) {
    throw ConfigError(error.what());
  }
}

}  // namespace tessera::config
