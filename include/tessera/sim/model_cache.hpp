// Models that have been read, for experiments that are read again with other strategies: a sweep
// may have thousands over one file, whose graph is the same each time.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "tessera/config/document.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::sim {

// Of one rank. What is read must follow from the key alone while the cache lives, as files do that
// do not change meanwhile.
class ModelCache {
 public:
  using Read = std::function<std::optional<workload::Workload>()>;

  // What `read` gives, or once gave for this key. Where it gives nothing it is called again.
  std::optional<workload::Workload> get(const std::string& key, const Read& read) {
    if (const auto found = workloads_.find(key); found != workloads_.end()) {
      return found->second;
    }
    std::optional<workload::Workload> workload = read();
    if (workload) {
      workloads_.emplace(key, *workload);
    }
    return workload;
  }

 private:
  std::map<std::string, workload::Workload> workloads_;
};

// A loader of files that brings a cache along, so that it comes wherever an experiment is read from
// files.
struct CachingLoader {
  config::TextLoader load;
  ModelCache* models = nullptr;

  std::string operator()(const std::string& path) const { return load(path); }
};
// The cache of a loader; null where it is another.
inline ModelCache* models_of(const config::TextLoader& loader) {
  const auto* const caching = loader.target<CachingLoader>();
  return caching == nullptr ? nullptr : caching->models;
}

}  // namespace tessera::sim
