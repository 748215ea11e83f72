// What HDF5 reads for us: traces, and ranks' files of checkpoints.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "readers.hpp"
#include "tessera/core/ids.hpp"
#include "tessera/trace/checkpoint.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::fuzz {
namespace {

struct Row {
  std::uint64_t number;
  double share;
  std::uint32_t entity;
};

constexpr std::uint64_t seed_rows = 40;

void read_trace(const std::string& path, trace::Trust trust) {
  const trace::TraceReader reader(path, trust);
  reader.attributes();
  for (const std::string& name : reader.table_names()) {
    const trace::ReadTable table = reader.read(name);
    if (table.rows != reader.committed_rows(name) ||
        table.bytes.size() != table.rows * table.spec.row_bytes) {
      broken("a table has other rows than its commits");
    }
    for (const trace::Field& field : table.spec.fields) {
      if (field.offset >= table.spec.row_bytes) {
        broken("a field is outside its row");
      }
    }
    reader.read(name, table.rows / 2, 3);
  }
}

void read_rank_file(const std::string& path) {
  const trace::CheckpointReader reader(path);
  std::size_t bytes = 0;
  reader.visit_entities([](EntityId entity) { return entity.value() % 2 == 0; },
                        [&](EntityId, std::span<const std::byte> state) { bytes += state.size(); });
  reader.visit_events([&](std::span<const std::byte> event) { bytes += event.size(); });
  reader.engine_totals();
  reader.run_totals();
}

void write_input(const std::string& path, const std::string& from, char choice) {
  std::ifstream file(from, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf() << choice;
  std::ofstream(path, std::ios::binary) << bytes.str();
}

}  // namespace

void read_traces(std::string_view bytes) {
  const unsigned choice = take_choice(bytes);
  const std::string path = file_with("fuzzed.h5", bytes);
  switch (choice % 3) {
    case 0:
      read_trace(path, trace::Trust::rows);
      return;
    case 1:
      read_trace(path, trace::Trust::commits);
      return;
    default:
      read_rank_file(path);
      return;
  }
}

void write_traces(const std::string& folder) {
  std::filesystem::create_directories(folder);
  const std::string made = scratch_folder() + "/made.h5";
  std::filesystem::remove(made);
  {
    trace::TableSpec table =
        trace::describe<Row>("rows", "rows of a fuzzer",
                             {trace::field("number", &Row::number, "B", "of the row"),
                              trace::field("share", &Row::share, "", "of all"),
                              trace::field("entity", &Row::entity, "", "that it is of")});
    table.is_slow = true;  // small chunks
    trace::TraceFile file(made, {table}, {{"name", "fuzzed"}});
    for (std::uint64_t i = 0; i < seed_rows; ++i) {
      file.append(0, Row{i * i, static_cast<double>(i) / 2, static_cast<std::uint32_t>(i)});
      if (i == seed_rows / 2) {
        file.commit(SimTime::from_ps(5), true);
      }
    }
    file.close(SimTime::from_ps(9));
  }
  write_input(folder + "/trace_rows", made, '\0');
  write_input(folder + "/trace_commits", made, '\1');
  std::filesystem::remove(made);
  {
    constexpr std::size_t event_bytes = 24;
    trace::CheckpointWriter writer(made, event_bytes);
    const std::vector<std::byte> state(50, std::byte{7});
    for (std::uint32_t entity = 0; entity < 3; ++entity) {
      writer.add_entity(EntityId(entity), std::span(state).first(10 + entity));
    }
    writer.add_event(std::span(state).first(event_bytes));
    writer.finish(std::span(state).first(5), state);
  }
  write_input(folder + "/checkpoint", made, '\2');
}

}  // namespace tessera::fuzz
