#include "mutate_wire.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tessera::fuzz {
namespace {

using soak::pick;
using soak::Random;

enum Wire : std::uint8_t { varint = 0, eight_bytes = 1, counted = 2, four_bytes = 5 };

struct Field {
  std::uint64_t number = 0;
  Wire wire = varint;
  std::uint64_t value = 0;  // of a varint
  std::string bytes;        // of all others
};

constexpr std::size_t most_fields = 4096;
constexpr int deepest = 12;

constexpr std::array<std::uint64_t, 16> odd_numbers{
    0,   1,   2,          3,          7,          8,        64,         127,
    128, 255, 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 1U << 16, 1ULL << 62, ~0ULL};

std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 70 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= shift < 64 ? std::uint64_t{byte & 0x7FU} << shift : 0;
    if (byte < 0x80) {
      return value;
    }
  }
  return std::nullopt;
}

void put_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    to += static_cast<char>((value & 0x7F) | 0x80);
  }
  to += static_cast<char>(value);
}

std::optional<std::string> take_bytes(std::string_view& bytes, std::uint64_t count) {
  if (count > bytes.size()) {
    return std::nullopt;
  }
  std::string taken(bytes.substr(0, count));
  bytes.remove_prefix(count);
  return taken;
}

std::optional<Field> take_field(std::string_view& bytes) {
  const auto tag = take_varint(bytes);
  if (!tag || *tag >> 3U == 0 || *tag >> 3U > 1U << 29U) {
    return std::nullopt;
  }
  Field field{*tag >> 3U, static_cast<Wire>(*tag & 7U), 0, {}};
  std::optional<std::uint64_t> size;
  switch (field.wire) {
    case varint: {
      const auto value = take_varint(bytes);
      field.value = value.value_or(0);
      return value ? std::optional(field) : std::nullopt;
    }
    case eight_bytes:
      size = 8;
      break;
    case four_bytes:
      size = 4;
      break;
    case counted:
      size = take_varint(bytes);
      break;
    default:
      return std::nullopt;
  }
  auto taken = size ? take_bytes(bytes, *size) : std::nullopt;
  if (!taken) {
    return std::nullopt;
  }
  field.bytes = *std::move(taken);
  return field;
}

// None where the bytes are no message.
std::optional<std::vector<Field>> fields_of(std::string_view bytes) {
  std::vector<Field> fields;
  while (!bytes.empty()) {
    auto field = take_field(bytes);
    if (!field || fields.size() == most_fields) {
      return std::nullopt;
    }
    fields.push_back(*std::move(field));
  }
  return fields;
}

std::string text_of(const std::vector<Field>& fields) {
  std::string text;
  for (const Field& field : fields) {
    put_varint(text, field.number << 3U | field.wire);
    if (field.wire == varint) {
      put_varint(text, field.value);
      continue;
    }
    if (field.wire == counted) {
      put_varint(text, field.bytes.size());
    }
    text += field.bytes;
  }
  return text;
}

std::uint64_t other_number(std::uint64_t value, Random& random) {
  switch (pick(random, 4)) {
    case 0:
      return value + 1;
    case 1:
      return value - 1;
    case 2:
      return value ^ std::uint64_t{1} << pick(random, 64);
    default:
      return odd_numbers[pick(random, odd_numbers.size())];
  }
}

bool mutate_fields(std::vector<Field>& fields, Random& random, const MutateBytes& mutate,
                   int depth);

void mutate_field(Field& field, Random& random, const MutateBytes& mutate, int depth) {
  if (field.wire == varint) {
    field.value = other_number(field.value, random);
    return;
  }
  if (field.wire != counted) {
    field.bytes[pick(random, field.bytes.size())] = static_cast<char>(random());
    return;
  }
  if (depth < deepest && pick(random, 8) != 0) {
    auto inner = fields_of(field.bytes);
    if (inner && mutate_fields(*inner, random, mutate, depth + 1)) {
      field.bytes = text_of(*inner);
      return;
    }
  }
  mutate(field.bytes);
}

bool mutate_fields(std::vector<Field>& fields, Random& random, const MutateBytes& mutate,
                   int depth) {
  if (fields.empty()) {
    return false;
  }
  const std::size_t at = pick(random, fields.size());
  const std::size_t other = pick(random, fields.size());
  switch (pick(random, 12)) {
    case 0:
      fields.push_back(fields[at]);
      break;
    case 1:
      fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 2:
      std::swap(fields[at], fields[other]);
      break;
    case 3:
      fields[at].number = 1 + pick(random, 33);
      break;
    case 4:
      fields.push_back({1 + pick(random, 33), varint, other_number(0, random), {}});
      break;
    case 5: {
      // What another one holds.
      const Field copied = fields[other];
      fields[at].wire = copied.wire;
      fields[at].value = copied.value;
      fields[at].bytes = copied.bytes;
      break;
    }
    default:
      mutate_field(fields[at], random, mutate, depth);
      break;
  }
  return true;
}

}  // namespace

std::string mutate_message(std::string_view bytes, Random& random, const MutateBytes& mutate) {
  auto fields = fields_of(bytes);
  if (!fields || !mutate_fields(*fields, random, mutate, 0)) {
    return {};
  }
  return text_of(*fields);
}

std::string mutate_messages(std::string_view bytes, Random& random, const MutateBytes& mutate) {
  std::vector<std::string> messages;
  while (!bytes.empty()) {
    const auto size = take_varint(bytes);
    auto message = size ? take_bytes(bytes, *size) : std::nullopt;
    if (!message) {
      break;  // the whole ones before it are kept
    }
    messages.push_back(*std::move(message));
  }
  if (messages.empty()) {
    return {};
  }
  for (std::size_t left = 1 + pick(random, 3); left > 0; --left) {
    const std::size_t at = pick(random, messages.size());
    switch (pick(random, 10)) {
      case 0:
        messages.push_back(messages[at]);
        break;
      case 1:
        if (messages.size() > 1) {
          messages.erase(messages.begin() + static_cast<std::ptrdiff_t>(at));
        }
        break;
      case 2:
        std::swap(messages[at], messages[pick(random, messages.size())]);
        break;
      default: {
        std::string changed = mutate_message(messages[at], random, mutate);
        if (!changed.empty()) {
          messages[at] = std::move(changed);
        }
      }
    }
  }
  std::string text;
  for (const std::string& message : messages) {
    put_varint(text, message.size());
    text += message;
  }
  return text;
}

}  // namespace tessera::fuzz
