// Configurations of other simulators, written as files of ours.
//
// A format is one simulator's files. It reads them with their places, writes YAML with where each
// number comes from behind it, and says what it could not carry over and what it had to assume: no
// key of a source is dropped without a word. Values are taken in the units of the source. Formats
// are texts in, texts out; whether what is written is a good experiment is for its reader to say.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"

namespace tessera::migration {

// What a source says and no file of ours does.
struct LeftOut {
  config::Place place;
  std::string what;  // "boost-mode: 1"
  std::string because;
};

enum class FileKind { experiment, machine, sweep };

struct WrittenFile {
  FileKind kind = FileKind::experiment;
  std::string ending;  // behind the stem of the name asked for: "" of the first, "_layers"
  std::string text;
};

struct Migrated {
  std::vector<WrittenFile> files;  // the first is what was asked for
  std::vector<std::string> sources;
  std::vector<LeftOut> left_out;
  std::vector<std::string> assumed;  // what no source says, a sentence each
};

// What a format is asked.
struct Request {
  std::string source;     // its main file
  config::Section given;  // beside it: keys that the registration of the format lists
  config::TextLoader load;
  std::string file;    // name of the file to be written
  std::string name;    // its stem
  std::string folder;  // that it will be in: paths in it are seen from there
  config::Diagnostics& diagnostics;
};

// Complaints go to the request's diagnostics; what is returned is of use only without any.
using Format = std::function<Migrated(Request&)>;
Registry<Format>& formats();

// Reads with the format of that name, complains about keys of `given` that it does not have, and
// puts what was left out at the top of each file. Throws ConfigError with every complaint.
Migrated migrate(const std::string& format, Request& request);

// "boost-mode: 1 (system.json:3): because", as files and screens have it.
std::string to_line(const LeftOut& left);

}  // namespace tessera::migration
