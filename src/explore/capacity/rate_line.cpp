#include "capacity/rate_line.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sweep/line_fields.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"

namespace tessera::explore {
namespace {

constexpr std::size_t fields_of_row = 6;
constexpr std::size_t fields_of_service = 11;
constexpr const char* end_of_row = ".";
// Fields behind services; rows of earlier builds have none.
constexpr std::string_view note_head = "note ";

// The whole numbers that are sent of a service.
template <class AnyService>
auto counts_of(AnyService& service) {
  return std::array{&service.npus,        &service.served,          &service.met,
                    &service.tokens,      &service.first_token.p99, &service.between_tokens.p99,
                    &service.a_token.p99, &service.latency.p99};
}

}  // namespace

std::string to_line(const CapacityRow& row) {
  std::vector<std::string> parts{row.status,
                                 as_field(row.message),
                                 format_number(row.rate),
                                 format_number(row.beyond),
                                 std::to_string(row.runs),
                                 std::to_string(row.times_count)};
  for (const trace::Service& service : row.services) {
    parts.push_back(as_field(service.tenant));
    for (const std::uint64_t* const count : counts_of(service)) {
      parts.push_back(std::to_string(*count));
    }
    parts.push_back(format_number(service.met_per_s));
    parts.push_back(format_number(service.cost_a_million_tokens.value_or(0)));
  }
  for (const std::string& note : row.notes) {
    parts.push_back(std::string(note_head) + as_field(note));
  }
  parts.emplace_back(end_of_row);
  return join(parts, std::string(1, field_separator));
}

CapacityRow capacity_row_from(const std::string& line) {
  std::vector<std::string> parts = split(line, field_separator);
  const bool is_whole = parts.back() == end_of_row;
  parts.pop_back();
  CapacityRow row;
  for (; !parts.empty() && parts.back().starts_with(note_head); parts.pop_back()) {
    row.notes.insert(row.notes.begin(), parts.back().substr(note_head.size()));
  }
  if (!is_whole || parts.size() < fields_of_row ||
      (parts.size() - fields_of_row) % fields_of_service != 0) {
    throw ConfigError("a line that is no row of rates");
  }
  row.status = parts[0];
  row.message = parts[1];
  row.rate = number_from<double>(parts[2]);
  row.beyond = number_from<double>(parts[3]);
  row.runs = number_from<std::uint32_t>(parts[4]);
  row.times_count = number_from<std::uint32_t>(parts[5]);
  for (std::size_t at = fields_of_row; at < parts.size();) {
    trace::Service& service = row.services.emplace_back();
    service.tenant = parts[at++];
    for (std::uint64_t* const count : counts_of(service)) {
      *count = number_from<std::uint64_t>(parts[at++]);
    }
    service.met_per_s = number_from<double>(parts[at++]);
    const auto cost = number_from<double>(parts[at++]);
    service.cost_a_million_tokens = cost > 0 ? std::optional(cost) : std::nullopt;
  }
  return row;
}

}  // namespace tessera::explore
