#include "serving/npu_use.hpp"

#include <algorithm>
#include <numeric>

namespace tessera::executor {

NpuUse::NpuUse(const ServingWork& work)
    : tenants_(work.tenants.size()), tenants_of_(work.npus.size()) {
  for (const ServiceSettings& tenant : work.tenants) {
    for (const std::uint32_t npu : tenant.npus) {
      ++tenants_of_[npu];
    }
  }
  if (std::any_of(tenants_of_.begin(), tenants_of_.end(), [](auto count) { return count > 1; })) {
    since_.resize(work.npus.size());
    busy_ps_.resize(work.npus.size() * tenants_);
  }
}

void NpuUse::advance(std::uint32_t npu, SimTime now, std::span<const std::uint32_t> running) {
  if (!is_shared(npu)) {
    return;
  }
  const auto at_work =
      std::count_if(running.begin(), running.end(), [](std::uint32_t parts) { return parts > 0; });
  const auto time_ps = static_cast<double>((now - since_[npu]).ps());
  for (std::size_t tenant = 0; tenant < tenants_; ++tenant) {
    if (running[tenant] > 0) {
      busy_ps_[npu * tenants_ + tenant] += time_ps / static_cast<double>(at_work);
    }
  }
  since_[npu] = now;
}

double NpuUse::share(std::uint32_t npu, std::uint32_t tenant) const {
  if (!is_shared(npu)) {
    return 1;
  }
  const auto begin = busy_ps_.begin() + static_cast<std::ptrdiff_t>(npu * tenants_);
  const double all = std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(tenants_), 0.0);
  return all > 0 ? begin[tenant] / all : 1.0 / tenants_of_[npu];
}

void NpuUse::save(pdes::StateWriter& writer) const {
  writer.put_all(since_);
  writer.put_all(busy_ps_);
}

void NpuUse::restore(pdes::StateReader& reader) {
  since_ = reader.get_all<SimTime>();
  busy_ps_ = reader.get_all<double>();
}

}  // namespace tessera::executor
