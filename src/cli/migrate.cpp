#include "migrate.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>

#include "tessera/cli/commands.hpp"
#include "tessera/comm/first_rank.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/core/version.hpp"
#include "tessera/migration/format.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/machine_file.hpp"
#include "tessera/trace/json_text.hpp"
#include "tessera/trace/run_folder.hpp"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;
using migration::FileKind;
using migration::Migrated;
using trace::JsonText;

// "KEY=VALUE" as keys of a section; a value is taken as it stands.
config::Section given_of(const Options& options, config::Diagnostics& diagnostics) {
  config::Value root;
  root.kind = config::Value::Kind::mapping;
  root.place = {"--with", 1, 1};
  for (const std::string& text : options.texts("with")) {
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos || sign == 0 || sign + 1 == text.size()) {
      throw ConfigError("--with: expected KEY=VALUE; got '" + text + "'");
    }
    const std::string key = text.substr(0, sign);
    if (root.find(key) != nullptr) {
      throw ConfigError("--with: '" + key + "' is given twice");
    }
    config::Value value;
    value.kind = config::Value::Kind::scalar;
    value.text = text.substr(sign + 1);
    value.place = {"--with " + text, 1, static_cast<int>(sign) + 2};
    const config::Place place{"--with " + text, 1, 1};
    root.members.push_back({key, place, value});
  }
  return {root, "", diagnostics};
}

fs::path output_of(const Options& options) {
  if (!options.has("output")) {
    return "imported.yaml";
  }
  fs::path path = options.text("output");
  if (path.extension() != ".yaml" && path.extension() != ".yml") {
    throw ConfigError("--output: '" + path.string() + "' must end in .yaml");
  }
  return path;
}

fs::path path_of(const fs::path& output, const migration::WrittenFile& file) {
  return output.parent_path() /
         (output.stem().string() + file.ending + output.extension().string());
}

// Of a line of what would be written, where it comes from, as its comment says it; or "".
std::string source_of(const std::string& text, int number) {
  std::istringstream lines(text);
  std::string line;
  for (int n = 0; n < number; ++n) {
    std::getline(lines, line);
  }
  const std::size_t comment = line.find("  # ");
  return number == 0 || comment == std::string::npos
             ? ""
             : " (that line is of " + line.substr(comment + 4) + ")";
}

// What is written is held against the reader of its kind, before it is there. Sweeps name a file
// that is not there yet; each of their points is read when it is run.
void check_written(const Migrated& migrated, const fs::path& output, comm::Communicator& world) {
  const std::string path = path_of(output, migrated.files.front()).string();
  const config::TextLoader load = [&](const std::string& asked) {
    return asked == path ? migrated.files.front().text : shared_loader(world)(asked);
  };
  try {
    if (migrated.files.front().kind == FileKind::machine) {
      sim::read_machine_file(path, {}, load);
    } else {
      sim::read_experiment(path, {}, load);
    }
  } catch (const ConfigError& error) {
    std::vector<Diagnostic> all = error.diagnostics();
    for (Diagnostic& one : all) {
      one.message = "what would be written is no good: " + one.message +
                    (one.file == path ? source_of(migrated.files.front().text, one.line) : "");
    }
    throw ConfigError(std::move(all));
  }
}

void check_places(const Migrated& migrated, const fs::path& output, bool overwrites) {
  for (const migration::WrittenFile& file : migrated.files) {
    const std::string path = path_of(output, file).string();
    std::error_code unknown;  // writing will tell
    if (fs::exists(path, unknown) && !overwrites) {
      throw ConfigError({path, 0, 0, "is there; name another file with -o, or give --force"});
    }
    trace::check_writable(path);
  }
}

void write(const Migrated& migrated, const fs::path& output) {
  for (const migration::WrittenFile& file : migrated.files) {
    trace::write_file_atomically(path_of(output, file).string(), file.text);
  }
}

std::string name_of(FileKind kind) {
  const std::map<FileKind, std::string> names{{FileKind::experiment, "experiment"},
                                              {FileKind::machine, "machine"},
                                              {FileKind::sweep, "sweep"}};
  return names.at(kind);
}

JsonText texts(const std::vector<std::string>& items) {
  JsonText list = JsonText::list();
  for (const std::string& item : items) {
    list.add(item);
  }
  return list;
}

std::string to_json(const std::string& format, const Migrated& migrated, const fs::path& output) {
  JsonText written = JsonText::list();
  for (const migration::WrittenFile& file : migrated.files) {
    written.add(JsonText::object()
                    .put("path", path_of(output, file).string())
                    .put("kind", name_of(file.kind)));
  }
  JsonText left_out = JsonText::list();
  for (const migration::LeftOut& left : migrated.left_out) {
    left_out.add(JsonText::object()
                     .put("file", left.place.file)
                     .put("line", left.place.line)
                     .put("column", left.place.column)
                     .put("what", left.what)
                     .put("because", left.because));
  }
  return JsonText::object()
      .put("file_type", "tessera-import")
      .put("format_version", "1.0")
      .put("format", format)
      .put("sources", texts(migrated.sources))
      .put("written", written)
      .put("not_carried_over", left_out)
      .put("assumed", texts(migrated.assumed))
      .put("versions", JsonText::object()
                           .put("tessera", std::string(version()))
                           .put("git", std::string(git_hash())))
      .to_string();
}

void say(const Migrated& migrated, const fs::path& output) {
  for (const migration::WrittenFile& file : migrated.files) {
    std::cout << name_of(file.kind) << " written to " << path_of(output, file).string() << "\n";
  }
  for (const migration::LeftOut& left : migrated.left_out) {
    std::cout << "not carried over: " << to_line(left) << "\n";
  }
  for (const std::string& what : migrated.assumed) {
    std::cout << "assumed: " << what << "\n";
  }
  std::cout << std::flush;
}

// "; did you mean it by 'KEY'?" of a word that was given and is none of the names.
std::string meant_by(const std::vector<std::string>& given, const std::string& name,
                     const std::vector<std::string>& names) {
  for (const std::string& text : given) {
    const std::string key = text.substr(0, text.find('='));
    if (std::find(names.begin(), names.end(), key) == names.end() &&
        nearest_match(key, names) == name) {
      return "; did you mean it by '" + key + "'?";
    }
  }
  return "; tessera list formats has all that it takes";
}

// What a format needs beside the file, all at once and as it is written on the command line.
void refuse_missing(const Options& options) {
  const std::string format = options.text("from");
  const std::vector<std::string> given = options.texts("with");
  std::vector<Diagnostic> missing;
  for (const PartInfo& info : migration::formats().infos()) {
    std::vector<std::string> names;
    for (const ParameterInfo& key : info.parameters) {
      names.push_back(key.name);
    }
    for (const ParameterInfo& key : info.parameters) {
      const std::string head = key.name + "=";
      if (info.name == format && key.is_required &&
          std::none_of(given.begin(), given.end(),
                       [&](const std::string& text) { return text.starts_with(head); })) {
        missing.push_back({"", 0, 0,
                           "--from " + format + " needs --with " + head + "FILE: " + key.help +
                               meant_by(given, key.name, names)});
      }
    }
  }
  if (!missing.empty()) {
    throw ConfigError(std::move(missing));
  }
}

Migrated read(const Options& options, const fs::path& output, comm::Communicator& world) {
  refuse_missing(options);
  config::Diagnostics diagnostics;
  migration::Request request{options.subject(),
                             given_of(options, diagnostics),
                             shared_loader(world),
                             output.filename().string(),
                             output.stem().string(),
                             output.has_parent_path() ? output.parent_path().string() : ".",
                             diagnostics};
  return migration::migrate(options.text("from"), request);
}

void refuse_without_file(const Options& options) {
  for (const char* name : {"json", "force"}) {
    if (options.flag(name) && !options.has("output")) {
      throw ConfigError("--" + std::string(name) + " goes with a file to write: -o FILE");
    }
  }
}

}  // namespace

void add_migration_options(Options& options) {
  options
      .add("from", "configuration of another simulator, written as files of this one",
           one_of_value(migration::formats().names()), "FORMAT")
      .add("with", "with --from: another file or choice (repeatable); see tessera list formats",
           texts_value(), "KEY=VALUE")
      .add("o,output", "with --from: file to write (default: print)", text_value(), "FILE.yaml")
      .add("force", "with --from: overwrite existing files");
}

int migrate_files(const Options& options, comm::Communicator& world) {
  refuse_without_file(options);
  const fs::path output = output_of(options);
  const Migrated migrated = read(options, output, world);
  check_written(migrated, output, world);
  if (!options.has("output")) {
    if (migrated.files.size() > 1) {
      throw ConfigError("this becomes " + std::to_string(migrated.files.size()) +
                        " files; name the first with -o FILE.yaml");
    }
    if (world.rank() == 0) {
      std::cout << migrated.files.front().text << std::flush;
    }
    return 0;
  }
  comm::on_first_rank(world, [&] {
    check_places(migrated, output, options.flag("force"));
    write(migrated, output);
  });
  if (world.rank() == 0) {
    if (options.flag("json")) {
      std::cout << to_json(options.text("from"), migrated, output) << std::flush;
    } else {
      say(migrated, output);
    }
  }
  return 0;
}

}  // namespace tessera::cli
