// The readers of files that a fuzzer gives bytes to, and a replay of its findings.
//
// A reader takes any bytes. What is wrong with them must end in ConfigError or IoError, which a
// reader here swallows; ModelError too, where a whole experiment is planned. Anything else, a
// crash, a sanitizer's report or a broken promise of the reader (what is written reads back the
// same, damage is noticed), leaves it as an exception or ends the process.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::fuzz {

using Reader = std::function<void(std::string_view bytes)>;

// By name: yaml, experiment, machines, tables, collective, chakra, onnx, requests, stored, traces,
// import.
const std::map<std::string, Reader>& readers();

// Of those that readers were given so far.
unsigned long refused_inputs();

void read_yaml(std::string_view bytes);
void read_experiment(std::string_view bytes);
void read_machines(std::string_view bytes);
void read_tables(std::string_view bytes);
void read_collective(std::string_view bytes);
void read_chakra(std::string_view bytes);
void read_onnx(std::string_view bytes);
void read_requests(std::string_view bytes);
void read_stored(std::string_view bytes);
void read_traces(std::string_view bytes);
void read_import(std::string_view bytes);

// A file of this process in memory (in the folder of temporary files where there is no /dev/shm),
// which holds the bytes until the next call with the same name.
std::string file_with(std::string_view name, std::string_view bytes);
// The folder of such files.
const std::string& scratch_folder();

// What the last byte of an input chooses, so that the front of a file is that of a file; 0 of an
// empty one.
unsigned take_choice(std::string_view& bytes);

// From a folder of experiments, so that they may name machines and models of the tree.
std::string path_of_experiment(std::string_view name);
// Files of the tree, at most 4 MiB each and each read once, and none of elsewhere.
std::string load_from_tree(const std::string& path);

// An input of several files: its first line, and after each line "%% NAME" what follows up to the
// next.
struct Bundle {
  struct Part {
    std::string name;
    std::string text;
  };
  std::string kind;
  std::vector<Part> parts;
};
Bundle split(std::string_view bytes);

// Inputs of `read_traces` that it reads whole, as files of a folder: what its fuzzer begins with.
void write_traces(const std::string& folder);

// Fails, as a broken promise of a reader.
[[noreturn]] void broken(const std::string& what);

}  // namespace tessera::fuzz
