// Hears what the models of one rank do, keeps the digest and writes the trace.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/compute/compute.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/record_digest.hpp"
#include "tessera/executor/program/executor.hpp"
#include "tessera/memory/memory.hpp"
#include "tessera/network/network.hpp"
#include "tessera/pdes/state.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/work.hpp"
#include "tessera/trace/records.hpp"
#include "tessera/trace/store/segment.hpp"

namespace tessera::sim {

class Recorder final : public executor::Observer {
 public:
  Recorder(const Experiment& experiment, const Work& work) : experiment_(experiment), work_(work) {}

  // From now on writes to `path`.
  void open(const std::string& path, const trace::Attributes& attributes);
  // Writes what does not change: the nodes of the rank and, by rank 0, the names.
  void describe(std::span<const EntityId> members, int rank);

  void on_operator(const executor::OperatorRecord& record) override;
  void on_message(const executor::MessageRecord& record) override;
  bool hears_messages_of_graphs() const override {
    return experiment_.options.trace == TraceLevel::full;
  }
  void on_collective_phase(const executor::CollectivePhaseRecord& record) override;
  void on_request(const executor::RequestRecord& record) override;
  void on_token(const executor::TokenRecord& record) override;
  // Not in the digest, which has what they follow from.
  void on_service_load(const executor::ServiceLoadRecord& record) override;
  void on_memory(const executor::MemoryRecord& record) override;
  void on_link_bin(const network::LinkUse& use);
  void on_channel_bin(const memory::ChannelUse& use);
  // Totals of the whole run; these count in the digest, the bins do not.
  void on_link_total(const network::LinkUse& use);
  void on_channel_total(const memory::ChannelUse& use);
  void on_core_bin(const compute::CoreUse& use);
  void on_core_total(const compute::CoreUse& use);
  void on_tile(const executor::TileResult& result);
  void on_engine(const trace::EngineRow& row);

  // Makes what was written so far safe.
  void commit(SimTime now);
  // The sum of the file; of none without one.
  trace::FileSum close(SimTime now);
  // Makes all of it safe, also from a power cut, and says how much that is; nothing without a file.
  trace::RowCounts secure(SimTime now);

  // The digest in and out of a checkpoint.
  void save_totals(pdes::StateWriter& writer) const;
  void add_totals(pdes::StateReader& reader);

  Digest digest() const {
    Digest all = messages_.sum();
    all.merge(digest_);
    return all;
  }
  bool writes() const { return file_ != nullptr; }
  std::size_t buffered_bytes() const { return file_ ? file_->buffered_bytes() : 0; }

 private:
  template <class Row>
  void append(trace::Table table, const Row& row) {
    if (file_) {
      file_->append(table, row);
    }
  }

  const Experiment& experiment_;
  const Work& work_;
  std::unique_ptr<trace::TraceFile> file_;
  std::vector<bool> writes_operators_;  // by node; while there is a file
  RecordDigest messages_;
  Digest digest_;  // of all else
};

}  // namespace tessera::sim
