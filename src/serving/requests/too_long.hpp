// Requests that have more tokens, with those they generate, than their model takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/config/document.hpp"
#include "tessera/config/key.hpp"
#include "tessera/serving/request.hpp"

namespace tessera::serving {

enum class TooLong { refuse, skip, clip };

const config::ChoiceKey<TooLong>& too_long_key();

class LengthLimit {
 public:
  // Any length.
  LengthLimit() = default;
  // `before`: tokens that will stand before each prompt.
  LengthLimit(const RequestNeeds& needs, TooLong too_long, std::uint32_t before = 0);

  // What is wrong with the request; none where it fits, is left out or was cut.
  std::optional<std::string> complaint(const Request& request) const;
  // Whether it is taken; it may be cut. The answer is cut first, but for one token, as by services
  // that end an answer where the model ends.
  bool take(Request& request);

  std::uint64_t skipped() const { return skipped_; }
  // What became of those that were too long, in a sentence; none: there were none.
  std::optional<std::string> note() const;

 private:
  bool fits(const Request& request) const;

  std::uint32_t longest_ = 0;  // 0: any
  std::uint32_t before_ = 0;
  TooLong too_long_ = TooLong::refuse;
  std::uint64_t skipped_ = 0;
  std::uint64_t clipped_ = 0;
};

}  // namespace tessera::serving
