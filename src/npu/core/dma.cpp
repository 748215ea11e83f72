#include "core/dma.hpp"

#include <algorithm>

#include "tessera/core/error.hpp"

namespace tessera::npu {

void Dma::add(Cycle cycle, const Transfer& transfer) {
  std::uint32_t place = 0;
  if (free_blocks_.empty()) {
    place = static_cast<std::uint32_t>(blocks_.size());
    blocks_.emplace_back();
  } else {
    place = free_blocks_.back();
    free_blocks_.pop_back();
  }
  blocks_[place] = {cycle, transfer, 0, 0, 0};
  queue_.push_back(place);
}

Cycle Dma::next_begin() const {
  return queue_.empty() ? unknown_cycle : blocks_[queue_.front()].cycle;
}

std::optional<std::pair<Access, const Transfer*>> Dma::next(const DmaConfig& config) {
  if (queue_.empty() || open_ >= config.open) {
    return std::nullopt;
  }
  const std::uint32_t place = queue_.front();
  Block& block = blocks_[place];
  // Rows that follow each other without a gap, or that are asked for together, are one.
  Region region = block.transfer.region;
  if (!config.by_rows || region.pitch == region.row_bytes) {
    region.row_bytes = region.bytes();
    region.rows = 1;
  }
  const std::uint64_t left = region.row_bytes - block.in_row;
  Access access;
  access.offset = block.transfer.origin + region.offset + block.row * region.pitch + block.in_row;
  // Cut at multiples of a request.
  access.bytes =
      config.request > Bytes()
          ? std::min(left, config.request.count() - access.offset % config.request.count())
          : left;
  block.in_row += access.bytes;
  if (block.in_row == region.row_bytes) {
    block.in_row = 0;
    ++block.row;
  }
  if (block.row == region.rows) {
    queue_.pop_front();
  }
  ++block.open;
  ++open_;
  std::uint16_t tag = 0;
  if (free_tags_.empty()) {
    tag = static_cast<std::uint16_t>(block_of_.size());
    block_of_.push_back(place);
  } else {
    tag = free_tags_.back();
    free_tags_.pop_back();
    block_of_[tag] = place;
  }
  access.tag = static_cast<std::uint16_t>(first_tag + tag);
  return std::pair<Access, const Transfer*>(access, &block.transfer);
}

std::optional<Transfer> Dma::end(std::uint16_t tag) {
  const auto number = static_cast<std::uint16_t>(tag - first_tag);
  const std::uint32_t place = block_of_[number];
  free_tags_.push_back(number);
  --open_;
  Block& block = blocks_[place];
  // Only the first of the queue is asked for in part.
  const bool is_asked_for = queue_.empty() || queue_.front() != place;
  if (--block.open > 0 || !is_asked_for) {
    return std::nullopt;
  }
  free_blocks_.push_back(place);
  return block.transfer;
}

void Dma::save(pdes::StateWriter& writer) const {
  writer.put_all(blocks_);
  writer.put_all(free_blocks_);
  writer.put_all(std::vector<std::uint32_t>(queue_.begin(), queue_.end()));
  writer.put_all(block_of_);
  writer.put_all(free_tags_);
  writer.put(open_);
}

void Dma::restore(pdes::StateReader& reader) {
  blocks_ = reader.get_all<Block>();
  free_blocks_ = reader.get_all<std::uint32_t>();
  const auto queue = reader.get_all<std::uint32_t>();
  queue_.assign(queue.begin(), queue.end());
  block_of_ = reader.get_all<std::uint32_t>();
  free_tags_ = reader.get_all<std::uint16_t>();
  open_ = reader.get<std::uint32_t>();
}

std::size_t Dma::resident_bytes() const {
  return blocks_.capacity() * sizeof(Block) +
         (free_blocks_.capacity() + block_of_.capacity() + queue_.size()) * sizeof(std::uint32_t) +
         free_tags_.capacity() * sizeof(std::uint16_t);
}

}  // namespace tessera::npu
