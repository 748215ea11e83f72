// Writes the checkpoints of a run, and takes a run up from one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "run/rank_models.hpp"
#include "tessera/trace/checkpoint.hpp"

namespace tessera::sim {

// The checkpoints in one run folder. All calls are collective.
class Checkpoints {
 public:
  using Say = std::function<void(const std::string&)>;

  // `inputs`: names of files beside the configuration, see Experiment::files.
  Checkpoints(comm::Communicator& communicator, std::string folder, std::string configuration_hash,
              std::vector<std::string> inputs);

  // The newest checkpoint whose files are as they were written; `warn` hears, on rank 0, of newer
  // ones that are not. Throws ConfigError when there is none, or when the newest is of another
  // configuration, other files that it names, or another program.
  trace::Checkpoint find(const Say& warn);

  // Puts the state of `checkpoint` into models that have not run. Throws IoError or InternalError
  // when the files hold something else than their checksums promise.
  void restore(const trace::Checkpoint& checkpoint, RankModels& models);
  // Afterwards: removes checkpoints newer than it, which are of no use.
  void discard_newer(const trace::Checkpoint& checkpoint);

  // What became of a checkpoint.
  struct Written {
    std::uint32_t number = 0;
    std::uint64_t bytes = 0;  // of all ranks
    std::string failure;      // "" when there was none; the same on all ranks
    int failed_rank = 0;      // whose failure it was; the same on all ranks
  };
  // At a pause: writes the state of all ranks. `segments` are those so far, the last one this;
  // `rows` are the good rows of this rank's trace.
  Written write(SimTime pause, const RankModels& models, std::vector<trace::Segment> segments,
                const trace::RowCounts& rows);

 private:
  std::string faults_of(std::uint32_t number, const std::string& head);
  void check_compatible(const trace::Checkpoint& checkpoint);
  const std::string& digest_of_inputs();

  comm::Communicator& communicator_;
  std::string folder_;
  std::string configuration_hash_;
  std::vector<std::string> inputs_;
  std::optional<std::string> digest_of_inputs_;  // once it is known, on rank 0
  std::uint32_t next_number_ = 1;
};

}  // namespace tessera::sim
