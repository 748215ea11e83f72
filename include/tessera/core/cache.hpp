// Work ahead for the processor's caches.
#pragma once

namespace tessera {

// Calls what lies at `address`, which must be readable, into cache: a load whose value nobody waits
// for. A prefetch instruction would do where the address of the page is known to the processor; on
// large arrays it mostly is not, and then the instruction is dropped (measured on AMD EPYC).
inline void call_into_cache(const void* address) {
  static_cast<void>(*static_cast<const volatile unsigned char*>(address));
}

// Begins to call what lies at `address` into cache, to be changed, if the processor finds its page
// at once. Nobody waits for it; a call_into_cache that is slow to come holds up what follows it.
inline void prefetch(const void* address) {
  __builtin_prefetch(address, 1);
}

}  // namespace tessera
