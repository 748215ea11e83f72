#include "tessera/sim/experiment_keys.hpp"

#include "tessera/sim/job.hpp"
#include "tessera/workload/keys.hpp"

namespace tessera::sim {

using config::OtherKey;

const config::DerivedKey<std::string>& experiment_name() {
  static const config::DerivedKey<std::string> key{"name", "the file's name", "title"};
  return key;
}

const config::NameKey& work_kind_key() {
  static const config::NameKey key = workload::kind_key(work_kind_names);
  return key;
}

std::vector<ParameterInfo> experiment_parameters() {
  return {
      experiment_name(),
      OtherKey("machine", "mapping or file", "", "the machine on which the workload runs"),
      OtherKey("workload", "mapping or file", "", "the workload, of one kind, or several tenants"),
      work_kind_key(),
      workload::title_key(),
      OtherKey("strategy", "mapping or file", "none", "how layers are cut and placed"),
      OtherKey("execution", "mapping", "none", "how graphs are executed"),
      OtherKey("run", "mapping", "none", "how the experiment is simulated")};
}

}  // namespace tessera::sim
