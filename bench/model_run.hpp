// Runs a model on Tessera's engine or on the reference, with the same model code.
//
// A model has a type Parameters with `lps` and `lookahead` and
//   pdes::Regions cut(const comm::Communicator&) const;
// a constructor Model(const Parameters&, std::uint32_t local entities) and
//   template <class Context> void start(Context&);   // once an entity, at time zero
//   template <class Context> void handle(Context&, const pdes::Event&);
//   void add_to(Digest&, std::uint32_t index, EntityId) const;   // state of one entity
//   std::size_t state_bytes() const;
//   static constexpr bool counts_hops;  // and if so, std::uint64_t hops() const
#pragma once

#include <utility>
#include <vector>

#include "case.hpp"
#include "cost.hpp"
#include "counting.hpp"
#include "reference/engine.hpp"
#include "regions.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/pdes/sync_policy.hpp"

namespace tessera::bench {

template <class Model>
class TesseraComponent final : public pdes::Component {
 public:
  explicit TesseraComponent(Model& model) : model_(model) {}
  void start(pdes::Context& context) override { model_.start(context); }
  void handle(pdes::Context& context, const pdes::Event& event) override {
    model_.handle(context, event);
  }

 private:
  Model& model_;
};

template <class Model>
class ReferenceModel final : public reference::Handler {
 public:
  explicit ReferenceModel(Model& model) : model_(model) {}
  void start(reference::Context& context) override { model_.start(context); }
  void handle(reference::Context& context, const pdes::Event& event) override {
    model_.handle(context, event);
  }

 private:
  Model& model_;
};

inline void note_cost(Measurement& measured, const Cost& cost) {
  measured.cpu_s = cost.cpu_s;
  measured.wall_s = cost.wall_s;
  measured.peak_memory = cost.peak_memory;
}

template <class Model>
void note_results(Measurement& measured, const Model& model) {
  measured.model_bytes = model.state_bytes();
  if constexpr (Model::counts_hops) {
    measured.hops = model.hops();
  }
}

template <class Model>
Measurement run_on_tessera(const typename Model::Parameters& parameters, const Setting& setting,
                           comm::Communicator& communicator) {
  communicator.barrier();
  if (communicator.rank() == 0 || !setting.ranks_are_threads) {
    forget_peak_memory();
  }
  communicator.barrier();
  pdes::Regions regions = parameters.cut(communicator);
  CountingCommunicator counted(communicator);
  auto policy = pdes::sync_policies().at(setting.policy)(counted, regions.delays);
  pdes::Engine engine(counted, std::move(regions), parameters.lookahead, std::move(policy));
  Model model(parameters, engine.local_entities());
  TesseraComponent<Model> component(model);
  engine.attach(component);
  communicator.barrier();

  Measurement measured;
  measured.engine = "tessera";
  note_cost(measured, cost_of(setting.ranks_are_threads, [&] { engine.run(); }));
  note_results(measured, model);
  const pdes::EngineStatistics statistics = engine.statistics();
  const pdes::EngineMemory memory = engine.memory();
  measured.lps = engine.local_entities();
  measured.events = statistics.events;
  measured.windows = statistics.windows;
  measured.rounds = statistics.rounds;
  measured.reductions = counted.reductions();
  measured.remote_messages = statistics.remote_events;
  measured.largest_pending = statistics.largest_pending;
  measured.waiting_s = statistics.waiting_s;
  measured.process_bytes = memory.process_bytes;
  measured.event_bytes = memory.event_bytes;
  measured.simulated = engine.last_event_time();
  for (std::uint32_t index = 0; index < engine.local_entities(); ++index) {
    model.add_to(measured.digest, index, engine.entity_of(index));
  }
  return over_ranks(communicator, std::move(measured));
}

template <class Model>
Measurement run_on_reference(const typename Model::Parameters& parameters, const Setting& setting) {
  forget_peak_memory();
  Model model(parameters, parameters.lps);
  ReferenceModel<Model> adapter(model);
  reference::Engine engine(parameters.lps, adapter);

  Measurement measured;
  measured.engine = "reference";
  note_cost(measured, cost_of(setting.ranks_are_threads, [&] { engine.run(); }));
  note_results(measured, model);
  measured.lps = parameters.lps;
  measured.events = engine.events();
  measured.largest_pending = engine.largest_pending();
  measured.process_bytes = engine.process_bytes();
  measured.event_bytes = engine.event_bytes();
  measured.simulated = engine.last_event_time();
  for (std::uint32_t entity = 0; entity < parameters.lps; ++entity) {
    model.add_to(measured.digest, entity, EntityId(entity));
  }
  return measured;
}

// The best of the setting's repeats of `once`.
template <class Once>
Measurement repeated(const Setting& setting, const Once& once) {
  std::vector<Measurement> runs;
  for (unsigned repeat = 0; repeat < setting.repeats; ++repeat) {
    runs.push_back(once());
  }
  return best_of(std::move(runs));
}

// Runs what the setting asks for. The reference runs on rank 0 alone, while the others wait.
template <class OnTessera, class OnReference>
void run_engines(Report& report, const Setting& setting, comm::Communicator& communicator,
                 const OnTessera& on_tessera, const OnReference& on_reference) {
  if (setting.engine != "reference") {
    report.run = repeated(setting, on_tessera);
  }
  if (setting.engine != "tessera" && communicator.rank() == 0) {
    Measurement reference = repeated(setting, on_reference);
    if (setting.engine == "both") {
      report.reference = std::move(reference);
    } else {
      report.run = std::move(reference);
    }
  }
  communicator.barrier();
}

template <class Model>
void run_model(Report& report, const typename Model::Parameters& parameters, const Setting& setting,
               comm::Communicator& communicator) {
  run_engines(
      report, setting, communicator,
      [&] { return run_on_tessera<Model>(parameters, setting, communicator); },
      [&] { return run_on_reference<Model>(parameters, setting); });
}

}  // namespace tessera::bench
