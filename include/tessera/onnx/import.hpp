// Reads ONNX models: opsets 7 to 23 of the standard set, operators of com.microsoft, functions of
// the model itself.
//
// Source: the ONNX specification (onnx.ai/onnx, IR.md and Operators.md), operator by operator.
// Deviations: shapes must be known when the import ends, so dynamic dimensions, the branch of an If
// and the count of a Loop have to follow from the file or from the options; where the size of an
// output depends on data (NonZero, NonMaxSuppression, Unique, Compress) the largest possible one is
// taken and noted. Weights are not needed: a model whose external data is missing is imported as
// shapes alone, and noted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/onnx/graph.hpp"

namespace tessera::onnx {

enum class Unknown : std::uint8_t { refuse, traffic };
// What complaints ask for: keys of a section, or options of a command.
enum class Wording : std::uint8_t { keys, options };

struct ImportOptions {
  // By name of the dimension, or "INPUT.AXIS" for one of an input that has no name.
  std::map<std::string, std::int64_t> dimensions;
  // Of whole inputs, in place of what the file says.
  std::map<std::string, Shape> shapes;
  // Of inputs that decide about shapes or branches.
  std::map<std::string, std::vector<double>> values;
  // By name of the If node, "*" for all others: true is its then-branch.
  std::map<std::string, bool> branches;
  // Iterations by name of the Loop node, "*" for all others; they go before what the file says.
  std::map<std::string, std::int64_t> loops;
  // An operator that is not known, or whose output shapes cannot be found out.
  Unknown unknown = Unknown::refuse;
  Wording wording = Wording::keys;
};

struct Import {
  Graph graph;
  std::string producer;
  std::map<std::string, std::int64_t> opsets;
  std::uint64_t file_nodes = 0;       // in all graphs of the file, Constant nodes included
  std::uint64_t file_parameters = 0;  // elements of all constants of the file that count as such
  std::uint64_t without_data = 0;     // constants whose data is not there: shapes only
  // What was assumed or left out of the work, one sentence each.
  std::vector<std::string> notices;

  // With what changes no work.
  std::vector<std::string> all_notices() const;
};

// Throws ConfigError with the node and the byte at which it begins, where there is one: for a file
// that is cut off or none, names that nobody defines, shapes that do not fit, dimensions that are
// not bound, choices that are missing.
Import import_model(const std::string& path, const ImportOptions& options);

// The same from the bytes of a file; `path` is for messages and for external data beside it.
Import import_model(const std::string& bytes, const std::string& path,
                    const ImportOptions& options);

}  // namespace tessera::onnx
