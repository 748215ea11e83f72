#include "binomial.hpp"

#include <algorithm>
#include <bit>

#include "step_maker.hpp"

namespace tessera::collective {

std::uint32_t binomial_steps(std::uint32_t size) {
  return static_cast<std::uint32_t>(std::bit_width(size - 1));
}

Step binomial_step(Kind kind, std::uint32_t size, Member member, Bytes bytes, std::uint32_t step) {
  const bool outward = kind == Kind::broadcast || kind == Kind::scatter;
  const bool whole = kind == Kind::broadcast || kind == Kind::reduce;
  const std::uint32_t level = outward ? binomial_steps(size) - 1 - step : step;
  const std::uint32_t distance = 1U << level;
  StepMaker maker(kind, size, bytes, step);
  const std::uint32_t place = member % (2 * distance);
  if (place % distance != 0 || (place == 0 && size - member <= distance)) {
    return maker.step();
  }
  const bool upper = place == distance;
  const Member other = upper ? member - distance : member + distance;
  const Member child = upper ? member : other;
  const Chunks chunks = whole ? maker.all() : Chunks{child, std::min(distance, size - child)};
  if (upper == outward) {
    return maker.receive(other, chunks, kind == Kind::reduce).step();
  }
  return maker.send(other, chunks).step();
}

}  // namespace tessera::collective
