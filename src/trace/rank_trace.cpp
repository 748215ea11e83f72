#include "rank_trace.hpp"

#include <algorithm>

#include "schema.hpp"
#include "store/posix_file.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/trace/run_folder.hpp"
#include "tessera/trace/store/json.hpp"

namespace tessera::trace {
std::vector<TracePart> verified_traces(const std::string& folder) {
  const std::vector<std::string> faults = verify_run_folder(folder);
  if (!faults.empty()) {
    throw IoError(folder + ": error: is no complete run: " + join(faults, "; "));
  }
  const std::string path = folder + "/" + manifest_name;
  std::vector<TracePart> traces;
  // Read a moment ago.
  const Json manifest = Json::parse(read_file(path)).value_or(Json());
  try {
    for (const Json& entry : manifest.at("files").items()) {
      if (entry.contains("rows")) {
        TracePart part;
        part.name = folder + "/" + entry.at("path").get<std::string>();
        part.rows = entry.at("rows").get<RowCounts>();
        traces.push_back(std::move(part));
      }
    }
  } catch (const JsonError&) {
    throw IoError(path + ": error: damaged: not the JSON it should be");
  }
  return traces;
}

RankTrace::RankTrace(const TracePart& part)
    : path_(part.name), reader_(path_, Trust::commits), specs_(tables()), rows_(specs_.size()) {
  const std::vector<std::string> present = reader_.table_names();
  for (std::size_t table = 0; table < specs_.size(); ++table) {
    const std::string& name = specs_[table].name;
    if (std::find(present.begin(), present.end(), name) == present.end()) {
      continue;
    }
    if (!readable_as(reader_.spec(name), specs_[table])) {
      throw IoError(path_ + ": error: table '" + name + "' has other fields than this program's");
    }
    rows_[table] = part.good_rows(name, reader_.committed_rows(name));
  }
}

void RankTrace::refuse_span(Table table, std::int64_t begin_ps, std::int64_t end_ps) const {
  throw IoError(path_ + ": error: damaged: table '" + specs_[table].name + "' has a row from " +
                std::to_string(begin_ps) + " ps to " + std::to_string(end_ps) + " ps");
}

}  // namespace tessera::trace
