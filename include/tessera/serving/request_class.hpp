// Classes of a tenant's requests: what a request belongs to, said by its file or drawn by shares.
//
// A class has a priority (the smallest is served first where batches go by priority), targets of
// its own, and figures of its own in summaries.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/serving/request.hpp"

namespace tessera::serving {

struct RequestClass {
  std::string name;
  std::int32_t priority = 0;
  double share = 1;  // weight among all classes of requests that do not say theirs
};

inline constexpr std::uint32_t most_adapters = 1U << 20;

// Adapters of a model (E. Hu et al., "LoRA", ICLR 2022) that requests which do not say theirs draw.
struct AdapterDraw {
  std::uint32_t count = 0;  // 0: there are none
  double share = 1;         // of these requests, that use one, each as likely
};

// The same requests, each with the number of its class (Request::of_class). A draw depends on seed
// and request alone.
std::unique_ptr<RequestSource> with_marks(std::unique_ptr<RequestSource> requests,
                                          const std::vector<RequestClass>& classes,
                                          const AdapterDraw& adapters, std::uint64_t seed);

// The number of the class of that name, from 1 on; 0: there is none.
std::uint32_t class_number(std::span<const std::string> classes, const std::string& name);

}  // namespace tessera::serving
