#include "notes/notes.hpp"

#include <iterator>
#include <utility>

#include "jobs/tenant_numbers.hpp"

namespace tessera::sim {
namespace {

// Of jobs that log messages in full traces.
void note_lumped_messages(const Experiment& experiment, std::vector<std::string>& notes) {
  if (experiment.options.trace != TraceLevel::full || !experiment.network->lumps_rings()) {
    return;
  }
  for (const PlacedJob& placed : experiment.jobs) {
    if (placed.job->logs_messages()) {
      notes.push_back((placed.name.empty() ? "" : placed.name + ": ") +
                      "messages of single-ring collectives are not in the table `messages`, as "
                      "their steps may be lumped together (machine.network.uncontended_steps)");
    }
  }
}

void add(std::vector<std::string> more, std::vector<std::string>& notes) {
  notes.insert(notes.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
}

}  // namespace

std::vector<std::string> notes_before(const Experiment& experiment, const Work& work) {
  std::vector<std::string> notes = experiment.notes;
  add(work.notes(), notes);
  note_lumped_messages(experiment, notes);
  add(experiment.network->notes(experiment.machine), notes);
  add(notes_of_sharing(experiment), notes);
  const auto accessed = work.accessed();
  if (!experiment.memory) {
    return notes;
  }
  if (!accessed || accessed->read + accessed->written > 0) {
    add(experiment.memory->notes(experiment.machine), notes);
  } else if (!experiment.memory->is_usual()) {
    notes.emplace_back("machine.memory has no effect with work that accesses no memory");
  }
  return notes;
}

}  // namespace tessera::sim
