#include "tessera/serving/language_model.hpp"

#include "language/model.hpp"
#include "layers/checks.hpp"

namespace tessera::serving {

std::unique_ptr<ServedModel> make_language_model(const LanguageSetup& setup) {
  refuse_unserved(setup);
  return setup.core == nullptr ? model_on_tiles(setup) : model_on_cores(setup);
}

}  // namespace tessera::serving
