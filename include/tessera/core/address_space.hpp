// The addresses that a process may have: `ulimit -v`, RLIMIT_AS of setrlimit(2).
//
// It counts what is mapped, used or not: the program and its libraries, stacks of threads, and what
// allocators hold in reserve.
#pragma once

#include <cstdint>

namespace tessera {

// [B]; 0: as many as it likes.
std::uint64_t address_space_limit();

// What the process has mapped [B], proc(5), /proc/self/statm; 0: not known.
std::uint64_t mapped_bytes();

// Whether `bytes` more could be mapped now. Allocates nothing. Always where there is no limit.
bool has_addresses(std::uint64_t bytes);

}  // namespace tessera
