#include "jobs/uncut.hpp"

namespace tessera::sim {

void refuse_cutting(config::Section& job, const std::string& why) {
  for (const char* key : {"strategy", "execution"}) {
    if (job.has(key)) {
      job.raw(key);
      job.error(key, why);
    }
  }
}

}  // namespace tessera::sim
