// Several compute components in one: each node has one of them.
#include <string>
#include <utility>
#include <vector>

#include "tessera/compute/compute.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera::compute {
namespace {

class ComputeOfParts final : public Compute {
 public:
  explicit ComputeOfParts(ComputeParts all) : all_(std::move(all)) {}

  void handle(pdes::Context& context, const pdes::Event& event) override {
    all_.parts[all_.part_of[context.index()]]->handle(context, event);
  }
  std::optional<pdes::Outlook> outlook(std::uint32_t rank, const pdes::Moment& moment) override {
    pdes::Outlook all;
    for (const auto& part : all_.parts) {
      const std::optional<pdes::Outlook> outlook = part->outlook(rank, moment);
      if (!outlook) {
        return std::nullopt;
      }
      all.add(*outlook);
    }
    return all;
  }
  void promise_accesses(const OperandWays& ways) override {
    for (const auto& part : all_.parts) {
      part->promise_accesses(ways);
    }
  }
  void pass_boundary(SimTime boundary) override {
    for (const auto& part : all_.parts) {
      part->pass_boundary(boundary);
    }
  }
  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    if (has_part(index)) {
      all_.parts[all_.part_of[index]]->save(index, writer);
    }
  }
  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    if (has_part(index)) {
      all_.parts[all_.part_of[index]]->restore(index, reader);
    }
  }
  std::size_t resident_bytes() const override {
    std::size_t bytes = all_.part_of.capacity() * sizeof(std::uint16_t);
    for (const auto& part : all_.parts) {
      bytes += part->resident_bytes();
    }
    return bytes;
  }
  void visit_cores(SimTime end, const CoreUseSink& sink) const override {
    for (const auto& part : all_.parts) {
      part->visit_cores(end, sink);
    }
  }
  void report_bins(CoreUseSink sink) override {
    for (const auto& part : all_.parts) {
      part->report_bins(sink);
    }
  }
  std::vector<std::string> waiting(std::size_t most) const override {
    std::vector<std::string> lines;
    for (const auto& part : all_.parts) {
      for (std::string& line : part->waiting(most - lines.size())) {
        lines.push_back(std::move(line));
      }
    }
    return lines;
  }

 private:
  bool has_part(std::uint32_t index) const { return all_.part_of[index] != ComputeParts::none; }

  ComputeParts all_;
};

}  // namespace

std::unique_ptr<Compute> make_compute_of(ComputeParts parts) {
  return std::make_unique<ComputeOfParts>(std::move(parts));
}

}  // namespace tessera::compute
