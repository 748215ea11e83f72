// Changes Protocol Buffers by their wire format, without a schema: fields, and not bytes, so that
// what holds them stays a message.
//
// Source: "Encoding", https://protobuf.dev/programming-guides/encoding/: a field is a tag, a
// number of 128 to a byte, and 64 or 32 bits, such a number, or a length and as many bytes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "../soak/mutate.hpp"

namespace tessera::fuzz {

// Changes bytes that are no message, in `bytes` of room for some more.
using MutateBytes = std::function<void(std::string& bytes)>;

// One field of a message changed, doubled, moved, taken out or put in, at any depth; "" where the
// bytes are none.
std::string mutate_message(std::string_view bytes, soak::Random& random, const MutateBytes& mutate);

// The same of one message in a file of them, each behind its length, as execution traces are; now
// and then a whole message is doubled, moved or taken out.
std::string mutate_messages(std::string_view bytes, soak::Random& random,
                            const MutateBytes& mutate);

}  // namespace tessera::fuzz
