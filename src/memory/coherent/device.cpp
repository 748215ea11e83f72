#include "coherent/device.hpp"

#include <algorithm>
#include <limits>

namespace tessera::memory {

std::uint64_t CoherentShares::take(Kind kind, std::uint64_t lines, std::uint64_t millionths) {
  const std::uint64_t sum = rest_[kind] + lines * millionths;
  rest_[kind] = sum % Fraction::one;
  return sum / Fraction::one;
}

CoherentSteps CoherentShares::steps_of(const CoherenceOptions& options, const Lines& lines) {
  const std::uint64_t dirty_read = take(dirty_reads, lines.reads, options.dirty.millionths());
  const std::uint64_t dirty_written = take(dirty_writes, lines.writes, options.dirty.millionths());
  const std::uint64_t clean_written = lines.writes - dirty_written;
  const std::uint64_t sent = take(invalidated, clean_written, options.sharers_millionths);
  const std::uint64_t lost_lines = take(lost, lines.count(), options.filter_miss.millionths());
  const std::uint64_t lost_data = take(lost_dirty, lost_lines, options.dirty.millionths());

  CoherentSteps steps;
  steps.forwarded = dirty_read;
  steps.written_back = dirty_read + lost_data;
  steps.messages = dirty_read + dirty_written + sent + lost_lines;
  steps.with_data = dirty_read + dirty_written + lost_data;
  const std::uint64_t clean_read = lines.reads - dirty_read;
  steps.later.reads = std::min(lost_lines, clean_read);
  // Less than one sharer: so many of the writes have one. More: all have.
  const std::uint64_t shared =
      options.sharers_millionths >= Fraction::one ? clean_written : std::min(sent, clean_written);
  steps.later.writes =
      std::min(lines.writes, dirty_written + shared + lost_lines - steps.later.reads);
  steps.now = {clean_read - steps.later.reads, lines.writes - steps.later.writes};
  return steps;
}

std::optional<std::uint16_t> CoherentDevice::begin(const ChannelOperation& operation) {
  constexpr std::size_t most = std::size_t{std::numeric_limits<std::uint16_t>::max()} + 1;
  if (under_way.size() == most) {
    waiting.push_back(operation);
    return std::nullopt;
  }
  return static_cast<std::uint16_t>(under_way.add(operation));
}

std::optional<ChannelOperation> CoherentDevice::next() {
  if (waiting.empty()) {
    return std::nullopt;
  }
  const ChannelOperation first = waiting.front();
  waiting.pop_front();
  return first;
}

void CoherentDevice::save(pdes::StateWriter& writer) const {
  writer.put(shares);
  writer.put(turn);
  under_way.save(writer);
  awaited.save(writer);
  writer.put_all(std::vector<ChannelOperation>(waiting.begin(), waiting.end()));
}

void CoherentDevice::restore(pdes::StateReader& reader) {
  shares = reader.get<CoherentShares>();
  turn = reader.get<std::uint32_t>();
  under_way.restore(reader);
  awaited.restore(reader);
  const auto all = reader.get_all<ChannelOperation>();
  waiting.assign(all.begin(), all.end());
}

}  // namespace tessera::memory
