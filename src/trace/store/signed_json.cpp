#include "store/signed_json.hpp"

#include <algorithm>
#include <filesystem>

#include "schema.hpp"
#include "store/posix_file.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/run_folder.hpp"

namespace tessera::trace {

std::string hexadecimal(std::uint32_t value) {
  std::string text(8, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, value >>= 4) {
    *digit = "0123456789abcdef"[value & 0xF];
  }
  return text;
}

bool is_inside(const std::string& name) {
  const std::filesystem::path path(name);
  return !name.empty() && path.is_relative() &&
         std::find(path.begin(), path.end(), "..") == path.end();
}

std::string crc_of(SignedJson json) {
  json.erase("crc32c");
  const std::string text = json.dump();
  return hexadecimal(crc32c(text.data(), text.size()));
}

void write_signed(const std::string& path, const std::string& file_type,
                  const SignedJson& members) {
  SignedJson json{{"file_type", file_type}, {"format_version", format_version}};
  for (const auto& [key, member] : members.items()) {
    json[key] = member;
  }
  json["crc32c"] = crc_of(json);
  write_file_atomically(path, json.dump(2) + "\n");
}

SignedJson read_signed(const std::string& path, const std::string& file_type) {
  const SignedJson json = SignedJson::parse(read_file(path), nullptr, false);
  try {
    if (json.is_discarded() || json.at("file_type") != file_type) {
      throw IoError(path + ": error: damaged (not the JSON it should be)");
    }
    if (const auto version = json.at("format_version").get<std::string>();
        !version.starts_with(readable_versions)) {
      throw ConfigError(path + ": error: has format version '" + version +
                        "'; this program reads " + std::string(readable_versions) + "x");
    }
    if (json.at("crc32c") != crc_of(json)) {
      throw IoError(path + ": error: damaged (CRC-32C differs)");
    }
  } catch (const SignedJson::exception&) {
    throw IoError(path + ": error: damaged (not the JSON it should be)");
  }
  return json;
}

}  // namespace tessera::trace
