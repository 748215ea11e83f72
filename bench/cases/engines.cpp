#include "case.hpp"

namespace tessera::bench {

const std::vector<std::string>& engines_of_models() {
  static const std::vector<std::string> names{"tessera", "reference", "both"};
  return names;
}

}  // namespace tessera::bench
