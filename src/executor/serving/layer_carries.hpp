// Keys and values that a unit hands over layer by layer, while it computes later layers, and that
// another gets so.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "serving/messages.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::executor {

class LayerCarries {
 public:
  // Of a request whose prompt a step ends.
  struct Leaving {
    std::uint16_t step = 0;    // place of the step at the host
    std::uint16_t slot = 0;    // place of what is handed over there
    std::uint32_t npu = 0;     // that it goes to
    std::uint32_t tokens = 0;  // of the prompt
  };

  // At the unit that computes. A step begins once all that leaves with it is known, in whatever
  // order it was told: false, it is kept until then.
  bool may_begin(const Told& step);
  // A step that was kept and may begin now.
  std::optional<Told> leave(const Leaving& leaving);
  const std::vector<Leaving>& leaving() const { return leaving_; }
  void end_step(std::uint16_t step);

  // At the unit that gets them: a layer has come; whether it is the last of so many.
  bool has_come(std::uint16_t slot, std::uint32_t layers);

  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);

 private:
  struct Coming {
    std::uint32_t slot = 0;
    std::uint32_t layers = 0;  // that have come
  };
  bool is_complete(const Told& step) const;

  std::vector<Leaving> leaving_;
  std::vector<Told> kept_;
  std::vector<Coming> coming_;
};

}  // namespace tessera::executor
