// Which block stands before each block of prompts. The number of a block stands for it with all
// that is before it, so that it always has the same one before it. Published logs may not keep to
// that; such blocks are counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

namespace tessera::serving {

class BlockParents {
 public:
  // Blocks of a prompt, from its beginning; numbers are not 0.
  void see(std::span<const std::uint32_t> blocks) {
    std::uint32_t before = 0;
    for (const std::uint32_t block : blocks) {
      const auto found = before_.find(block);
      if (found != before_.end()) {
        moved_ += found->second != before ? 1 : 0;
      } else if (before_.size() < most_blocks) {
        before_.emplace(block, before);
      }
      before = block;
    }
  }
  // Times that a block stood behind another one than where it was first.
  std::uint64_t moved() const { return moved_; }

 private:
  // More are not looked at: some 40 MB.
  static constexpr std::size_t most_blocks = std::size_t{1} << 20U;

  std::unordered_map<std::uint32_t, std::uint32_t> before_;
  std::uint64_t moved_ = 0;
};

}  // namespace tessera::serving
