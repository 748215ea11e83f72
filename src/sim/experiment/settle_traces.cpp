#include "experiment/settle_traces.hpp"

#include <sstream>

#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"

namespace tessera::sim {
namespace {

// What a rank tells of one trace with losses, on two lines: its rank and the rows of each table,
// then what is lost.
std::string report_of(int rank, const trace::SettledTrace& settled) {
  std::ostringstream text;
  text << rank;
  for (const auto& [table, rows] : settled.rows) {
    text << ' ' << table << ' ' << rows;
  }
  text << '\n' << settled.loss << '\n';
  return text.str();
}

// Takes the reports of all ranks into `segment`; what is lost.
std::vector<std::string> take_reports(const std::string& reports, trace::Segment& segment) {
  std::vector<std::string> losses;
  std::istringstream lines(reports);
  for (std::string counts, loss; std::getline(lines, counts) && std::getline(lines, loss);) {
    std::istringstream words(counts);
    std::size_t rank = 0;
    words >> rank;
    ensure(rank < segment.rows.size(), "a trace of a rank that was not there");
    trace::RowCounts& rows = segment.rows[rank];
    std::string table;
    std::uint64_t count = 0;
    while (words >> table >> count) {
      rows[table] = count;
    }
    losses.push_back(loss);
  }
  return losses;
}

}  // namespace

std::vector<std::string> settle_traces(comm::Communicator& communicator, const RunRequest& request,
                                       const std::function<trace::Attributes(int)>& attributes,
                                       std::vector<trace::Segment>& segments) {
  // Their writers may have been killed. Those of earlier segments were settled before.
  trace::Segment& last = segments.back();
  const std::vector<trace::TracePart> parts = trace::trace_parts({last});
  std::string report;
  for (auto part = static_cast<std::size_t>(communicator.rank()); part < parts.size();
       part += static_cast<std::size_t>(communicator.size())) {
    const int rank = parts[part].rank;
    const auto losses = request.accept_loss ? trace::Losses::accepted : trace::Losses::refused;
    try {
      const trace::SettledTrace settled =
          trace::settle_trace(request.folder, parts[part], losses, attributes(rank));
      report += settled.loss.empty() ? "" : report_of(rank, settled);
    } catch (const trace::DamagedTrace& damaged) {
      throw IoError(std::string(damaged.what()) +
                    "; the checkpoint is whole: tessera run --resume " + request.folder +
                    " --accept-loss goes on with the rows that can be read");
    }
  }
  std::string reports = join(communicator.gather(report), "");
  reports = communicator.broadcast(reports, 0);
  return take_reports(reports, last);
}

}  // namespace tessera::sim
