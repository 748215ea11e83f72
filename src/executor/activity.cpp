#include "tessera/core/error.hpp"
#include "tessera/executor/program/executor.hpp"

namespace tessera::executor {

std::string to_string(Activity activity) {
  switch (activity) {
    case Activity::compute:
      return "compute";
    case Activity::tensor:
      return "tensor";
    case Activity::data:
      return "data";
    case Activity::context:
      return "context";
    case Activity::expert:
      return "expert";
    case Activity::pipeline:
      return "pipeline";
    case Activity::memory:
      return "memory";
    case Activity::bubble:
      return "bubble";
    case Activity::host:
      return "host";
    case Activity::collective:
      return "collective";
    case Activity::message:
      return "message";
  }
  throw InternalError("an activity outside its list");
}

}  // namespace tessera::executor
