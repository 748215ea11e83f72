// Work ahead for the processor's caches.
#pragma once

namespace tessera {

// Calls what lies at `address`, which must be readable, into cache: a load whose value nobody waits
// for. A prefetch instruction would do where the address of the page is known to the processor; on
// large arrays it mostly is not, and then the instruction is dropped (measured on AMD EPYC).
inline void call_into_cache(const void* address) {
  static_cast<void>(*static_cast<const volatile unsigned char*>(address));
}

}  // namespace tessera
