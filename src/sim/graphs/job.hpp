// Work that is graphs of accelerators.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/executor/graph/graph.hpp"
#include "tessera/sim/job.hpp"

namespace tessera::sim {

class GraphsJob final : public Job {
 public:
  // Both of an iteration. FLOPs of the model; none: those that its graphs do.
  GraphsJob(std::unique_ptr<executor::GraphWork> graph, std::uint64_t samples,
            std::optional<double> flops = std::nullopt)
      : graph_(std::move(graph)), samples_(samples), flops_(flops) {}

  executor::GraphWork& graph() { return *graph_; }
  // [channels] beside tensors.
  void keep_in_channels(plan::BytesByChannel bytes) { in_channels_ = std::move(bytes); }
  // Of the stages of the plan that the graphs are, in a run and for `tessera check`.
  void keep_peaks(std::vector<StagePeak> peaks, std::vector<JobDescription::Peak> described) {
    peaks_ = std::move(peaks);
    described_peaks_ = std::move(described);
  }
  // Of the plan that the graphs are; "": nothing.
  void keep_plan_notes(std::vector<std::string> notes) { plan_notes_ = std::move(notes); }
  const std::vector<std::string>& plan_notes() const { return plan_notes_; }
  const std::vector<StagePeak>& peaks() const { return peaks_; }
  // Of an iteration, of a plan of a language model.
  void keep_tokens(std::uint64_t tokens) { tokens_ = tokens; }
  std::uint64_t tokens() const { return tokens_; }

  std::unique_ptr<Work> work(const Platform& platform) const override;
  JobDescription describe(const Platform& platform) const override;
  std::string brief() const override;
  std::uint32_t inner_iterations() const override {
    return graph_->source ? graph_->source->iterations() : 1;
  }
  // Not where nodes that are memory answer, nor where rings are carried without each message.
  bool promises(const Platform& platform) const override;
  std::string cutter() const override { return "communicators"; }
  SparseTable cut(const Platform& platform, int ranks,
                  const machine::Weights& weights) const override;
  std::string warning() const override;
  bool logs_messages() const override { return true; }
  std::optional<memory::CoherentGroup> coherent_group() const override;
  std::shared_ptr<const workload::GraphSource> graphs(const Platform&) const override {
    return graph_->source;
  }
  std::span<const workload::Operation> operations() const override { return graph_->operations; }
  void number(NextNumbers& next) override;
  BytesByNode kept(const Platform& platform, const ServingMemory& memory) const override;

 private:
  std::unique_ptr<executor::GraphWork> graph_;
  std::uint64_t samples_;
  std::uint64_t tokens_ = 0;
  std::optional<double> flops_;
  plan::BytesByChannel in_channels_;
  std::vector<StagePeak> peaks_;
  std::vector<JobDescription::Peak> described_peaks_;
  std::vector<std::string> plan_notes_;
};

}  // namespace tessera::sim
