#include "requests/too_long.hpp"

#include <algorithm>

namespace tessera::serving {

const config::ChoiceKey<TooLong>& too_long_key() {
  static const config::ChoiceKey<TooLong> key{
      "too_long",
      {{"refuse", TooLong::refuse}, {"skip", TooLong::skip}, {"clip", TooLong::clip}},
      "refuse",
      "requests of a file or list with more tokens than the model accepts: refuse: an error; "
      "skip: left out; clip: cut, the answer first"};
  return key;
}

LengthLimit::LengthLimit(const RequestNeeds& needs, TooLong too_long, std::uint32_t before)
    : longest_(needs.longest), before_(before), too_long_(too_long) {
  if (before_ + std::uint64_t{2} > longest_) {
    too_long_ = TooLong::refuse;  // no request is left of it
  }
}

bool LengthLimit::fits(const Request& request) const {
  return longest_ == 0 || std::uint64_t{before_} + request.prompt + request.generate <= longest_;
}

std::optional<std::string> LengthLimit::complaint(const Request& request) const {
  if (too_long_ != TooLong::refuse || fits(request)) {
    return std::nullopt;
  }
  const std::uint64_t tokens = std::uint64_t{before_} + request.prompt + request.generate;
  return "a request of " + std::to_string(tokens) + " tokens with those it generates" +
         (before_ > 0 ? " and " + std::to_string(before_) + " before it (prefix)" : "") +
         "; the model takes " + std::to_string(longest_) +
         " (sequence). too_long: skip leaves such requests out, clip cuts them";
}

bool LengthLimit::take(Request& request) {
  if (fits(request)) {
    return true;
  }
  if (too_long_ == TooLong::skip) {
    ++skipped_;
    return false;
  }
  ++clipped_;
  const std::uint32_t room = longest_ - before_;
  request.prompt = std::min(request.prompt, room - 1);
  request.generate = room - request.prompt;
  request.prefix_tokens = std::min(request.prefix_tokens, request.prompt);
  return true;
}

std::optional<std::string> LengthLimit::note() const {
  const std::uint64_t count = skipped_ + clipped_;
  return count == 0 ? std::nullopt
                    : std::optional(std::to_string(count) + " requests of more than the " +
                                    std::to_string(longest_) +
                                    " tokens that the model takes (sequence) are " +
                                    (skipped_ > 0 ? "left out" : "cut to that many"));
}

}  // namespace tessera::serving
