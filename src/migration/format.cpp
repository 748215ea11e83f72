#include "tessera/migration/format.hpp"

#include <algorithm>

#include "tessera/config/plain_text.hpp"
#include "tessera/core/text.hpp"
#include "text.hpp"

namespace tessera::migration {
namespace {

// What stands at the top of each file; sources by their names alone.
std::string head_of(const std::string& format, const Migrated& migrated) {
  std::vector<std::string> names;
  for (const std::string& source : migrated.sources) {
    names.push_back(file_name(source));
  }
  std::string head =
      comment("tessera import --from " + format + ", of " + join(names) + ". Places are theirs.");
  for (const LeftOut& left : migrated.left_out) {
    head += comment("not carried over: " + to_line(left));
  }
  for (const std::string& what : migrated.assumed) {
    head += comment("assumed: " + what);
  }
  return head;
}

}  // namespace

Registry<Format>& formats() {
  static Registry<Format> registry("format");
  return registry;
}

std::string to_line(const LeftOut& left) {
  return left.what + " (" + origin_of(left.place) + "): " + left.because;
}

Migrated migrate(const std::string& format, Request& request) {
  Migrated migrated = formats().at(format)(request);
  request.given.finish();
  request.diagnostics.throw_if_any();
  const std::string head = head_of(format, migrated);
  for (WrittenFile& file : migrated.files) {
    file.text = head + file.text;
    // As where a path that is written is no text.
    config::Diagnostics unreadable;
    if (!config::check_text(file.ending, file.text, unreadable)) {
      throw ConfigError(
          {request.source, 0, 0,
           "what is written of it could not be read: " + unreadable.list().front().message});
    }
  }
  return migrated;
}

}  // namespace tessera::migration
