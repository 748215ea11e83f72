#include "run/checkpoints.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <sstream>
#include <utility>

#include "tessera/comm/first_rank.hpp"
#include "tessera/core/text.hpp"
#include "tessera/core/version.hpp"
#include "tessera/sim/file_contents.hpp"

namespace tessera::sim {
namespace {

std::span<const std::byte> bytes_of(const pdes::Event& event) {
  return std::as_bytes(std::span<const pdes::Event, 1>(&event, 1));
}

// This rank's file, without its name. Throws IoError.
trace::CheckpointFile write_file(const std::string& path, const RankModels& models) {
  trace::CheckpointWriter file(path, sizeof(pdes::Event));
  pdes::StateWriter state;
  for (std::uint32_t index = 0; index < models.engine.local_entities(); ++index) {
    state.clear();
    models.engine.save(index, state);
    file.add_entity(models.engine.entity_of(index), state.bytes());
  }
  models.engine.visit_pending([&](const pdes::Event& event) { file.add_event(bytes_of(event)); });
  state.clear();
  models.engine.save_totals(state);
  pdes::StateWriter run;
  models.recorder.save_totals(run);
  return file.finish(state.bytes(), run.bytes());
}

// How a rank tells rank 0 of its file: numbers, or a line that says what went wrong.
constexpr char failure_mark = '!';

std::string report_of(const trace::CheckpointFile& file, const trace::RowCounts& rows) {
  std::ostringstream text;
  text << file.bytes << ' ' << file.crc;
  for (const auto& [table, count] : rows) {
    text << ' ' << table << ' ' << count;
  }
  return text.str();
}

std::string builds_of(const trace::Checkpoint& checkpoint) {
  return "was written by tessera " + checkpoint.version + " (" + checkpoint.git_hash +
         "); this is " + std::string(version()) + " (" + std::string(git_hash()) + ")";
}

void take_report(const std::string& report, trace::CheckpointFile& file, trace::RowCounts& rows) {
  std::istringstream text(report);
  text >> file.bytes >> file.crc;
  std::string table;
  std::uint64_t count = 0;
  while (text >> table >> count) {
    rows[table] = count;
  }
}

}  // namespace

Checkpoints::Checkpoints(comm::Communicator& communicator, std::string folder,
                         std::string configuration_hash, std::vector<std::string> inputs)
    : communicator_(communicator),
      folder_(std::move(folder)),
      configuration_hash_(std::move(configuration_hash)),
      inputs_(std::move(inputs)) {}

const std::string& Checkpoints::digest_of_inputs() {
  if (!digest_of_inputs_) {
    digest_of_inputs_ = digest_of_files(inputs_);
  }
  return *digest_of_inputs_;
}

void Checkpoints::check_compatible(const trace::Checkpoint& checkpoint) {
  const std::string path = trace::checkpoint_path(folder_, checkpoint.number);
  if (checkpoint.state != trace::state_version) {
    throw ConfigError(
        path + ": " + builds_of(checkpoint) + ", which holds its state differently (layout " +
        std::to_string(trace::state_version) + ", not " + std::to_string(checkpoint.state) + ")");
  }
  if (checkpoint.configuration_hash != configuration_hash_) {
    throw ConfigError(path + ": is of another configuration than config.resolved.yaml beside it");
  }
  if (!checkpoint.inputs.empty() && checkpoint.inputs != digest_of_inputs()) {
    throw ConfigError(path + ": a file that the configuration names (" + join(inputs_) +
                      ") is not as it was when the checkpoint was written");
  }
}

// What is wrong with a checkpoint, looked at by all ranks; `head` is what rank 0 found wrong with
// checkpoint.json.
std::string Checkpoints::faults_of(std::uint32_t number, const std::string& head) {
  std::string fault = head;
  if (head.empty()) {
    try {
      const trace::Checkpoint checkpoint = trace::read_checkpoint(folder_, number);
      const auto ranks = static_cast<std::size_t>(communicator_.size());
      for (auto file = static_cast<std::size_t>(communicator_.rank());
           file < checkpoint.files.size() && fault.empty(); file += ranks) {
        fault = trace::fault_of(folder_, checkpoint, file);
      }
    } catch (const IoError& unreadable) {
      fault = unreadable.what();
    }
  }
  std::string first;
  for (const std::string& each : communicator_.gather(fault)) {
    first = first.empty() ? each : first;
  }
  return communicator_.broadcast(first, 0);
}

trace::Checkpoint Checkpoints::find(const Say& warn) {
  std::vector<std::uint32_t> numbers;
  if (communicator_.rank() == 0) {
    numbers = trace::list_checkpoints(folder_);
  }
  const auto next = [&](std::size_t place) {  // "" after the last one
    const bool more = place < numbers.size();
    return communicator_.broadcast(more ? std::to_string(numbers[place]) : "", 0);
  };
  std::vector<std::string> faults;
  for (std::size_t place = 0;; ++place) {
    const std::string text = next(place);
    if (text.empty()) {
      break;
    }
    const auto number = static_cast<std::uint32_t>(std::stoul(text));
    next_number_ = std::max(next_number_, number + 1);
    std::string head;
    on_first_rank(communicator_, [&] {
      try {
        check_compatible(trace::read_checkpoint(folder_, number));
      } catch (const IoError& unreadable) {
        head = unreadable.what();
      }
    });
    const std::string fault = faults_of(number, communicator_.broadcast(head, 0));
    if (fault.empty()) {
      for (const std::string& each : faults) {
        if (communicator_.rank() == 0 && warn) {
          warn(each + "; going back to checkpoint " + text);
        }
      }
      trace::Checkpoint checkpoint = trace::read_checkpoint(folder_, number);
      const bool other = checkpoint.version != version() || checkpoint.git_hash != git_hash();
      if (other && communicator_.rank() == 0 && warn) {
        warn(trace::checkpoint_path(folder_, number) + ": " + builds_of(checkpoint) +
             "; where the two compute differently, the results are of both");
      }
      return checkpoint;
    }
    faults.push_back(fault);
  }
  throw ConfigError(faults.empty() ? folder_ + ": holds no checkpoint to go on from"
                                   : folder_ + ": holds no valid checkpoint to go on from: " +
                                         join(faults, "; "));
}

void Checkpoints::restore(const trace::Checkpoint& checkpoint, RankModels& models) {
  const auto files = checkpoint.files.size();
  const auto rank = static_cast<std::size_t>(communicator_.rank());
  const auto ranks = static_cast<std::size_t>(communicator_.size());
  const std::string folder = trace::checkpoint_path(folder_, checkpoint.number);
  const auto path = [&](std::size_t file) { return folder + "/" + checkpoint.files[file].name; };
  std::vector<std::int64_t> index_of(models.experiment.machine.topology->nodes(), -1);
  for (std::uint32_t index = 0; index < models.engine.local_entities(); ++index) {
    index_of[models.engine.entity_of(index).value()] = index;
  }
  const auto is_ours = [&](EntityId entity) {
    return entity.value() < index_of.size() && index_of[entity.value()] >= 0;
  };
  // On as many ranks as before, under the same partition, a rank finds all in its own file.
  std::uint32_t left = models.engine.local_entities();
  for (std::size_t step = 0; step < files && left > 0; ++step) {
    const trace::CheckpointReader reader(path((rank + step) % files));
    bool any = false;
    reader.visit_entities(is_ours, [&](EntityId entity, std::span<const std::byte> bytes) {
      pdes::StateReader state(bytes);
      models.engine.restore(static_cast<std::uint32_t>(index_of[entity.value()]), state);
      ensure(state.at_end() && left > 0, "a checkpoint holds more than it should");
      --left;
      any = true;
    });
    if (!any) {
      continue;
    }
    reader.visit_events([&](std::span<const std::byte> bytes) {
      pdes::Event event;
      ensure(bytes.size() == sizeof(event), "a checkpoint's events have another size");
      std::memcpy(&event, bytes.data(), sizeof(event));
      if (is_ours(EntityId(event.target))) {
        models.engine.restore_pending(event);
      }
    });
  }
  ensure(left == 0, "a checkpoint does not hold all entities");

  // Each rank that wrote counts on one rank that reads.
  const auto totals = [&](std::size_t file, bool count) {
    const trace::CheckpointReader reader(path(file));
    const std::vector<std::byte> engine = reader.engine_totals();
    pdes::StateReader state(engine);
    models.engine.restore_totals(state, count);
    if (count) {
      const std::vector<std::byte> run = reader.run_totals();
      pdes::StateReader run_state(run);
      models.recorder.add_totals(run_state);
      ensure(state.at_end() && run_state.at_end(), "a checkpoint holds more than it should");
    }
  };
  if (rank >= files) {
    totals(0, false);
  }
  for (std::size_t file = rank; file < files; file += ranks) {
    totals(file, true);
  }
}

void Checkpoints::discard_newer(const trace::Checkpoint& checkpoint) {
  communicator_.barrier();  // every rank has read what it needs
  if (communicator_.rank() == 0) {
    for (const std::uint32_t number : trace::list_checkpoints(folder_)) {
      if (number > checkpoint.number) {
        trace::discard_checkpoint(folder_, number);
      }
    }
    trace::discard_checkpoint(folder_, next_number_);  // what a killed run left half written
  }
}

Checkpoints::Written Checkpoints::write(SimTime pause, const RankModels& models,
                                        std::vector<trace::Segment> segments,
                                        const trace::RowCounts& rows) {
  Written written;
  written.number = next_number_;
  const int rank = communicator_.rank();
  const int ranks = communicator_.size();
  std::string begun;  // the path of the folder, or a failure
  if (rank == 0) {
    try {
      begun = trace::begin_checkpoint(folder_, written.number, ranks);
    } catch (const IoError& error) {
      begun = failure_mark + std::string(error.what());
    }
  }
  begun = communicator_.broadcast(begun, 0);
  std::string report = begun;
  if (begun.front() != failure_mark) {
    try {
      report = report_of(write_file(begun + "/" + trace::checkpoint_file_name(rank, ranks), models),
                         rows);
    } catch (const IoError& error) {
      report = failure_mark + std::string(error.what());
    }
  }

  const std::vector<std::string> reports = communicator_.gather(report);
  if (rank == 0) {
    trace::Checkpoint checkpoint;
    checkpoint.number = written.number;
    checkpoint.state = trace::state_version;
    checkpoint.version = version();
    checkpoint.git_hash = git_hash();
    checkpoint.configuration_hash = configuration_hash_;
    checkpoint.inputs = digest_of_inputs();
    checkpoint.cut_ps = pause.ps();
    for (std::size_t from = 0; from < reports.size() && written.failure.empty(); ++from) {
      if (reports[from].front() == failure_mark) {
        written.failure = reports[from].substr(1);
        written.failed_rank = static_cast<int>(from);
        break;
      }
      trace::CheckpointFile file;
      trace::RowCounts counts;
      take_report(reports[from], file, counts);
      file.name = trace::checkpoint_file_name(static_cast<int>(from), ranks);
      written.bytes += file.bytes;
      checkpoint.files.push_back(std::move(file));
      if (!counts.empty()) {
        segments.back().rows.push_back(std::move(counts));
      }
    }
    checkpoint.segments = std::move(segments);
    try {
      if (written.failure.empty()) {
        trace::publish_checkpoint(folder_, checkpoint);
      }
    } catch (const IoError& error) {
      written.failure = error.what();
    }
    if (!written.failure.empty()) {
      trace::discard_checkpoint(folder_, written.number);
    }
  }
  written.failure = communicator_.broadcast(written.failure, 0);
  written.failed_rank = std::stoi(communicator_.broadcast(std::to_string(written.failed_rank), 0));
  ++next_number_;
  return written;
}

}  // namespace tessera::sim
