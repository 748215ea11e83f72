// Keys of a section that set a member of a structure each, where no key decides how another is
// read: named once, in the order in which they are read and listed.
//
//   const Members host_keys{Member{bandwidth_key, &Host::bandwidth}, Member{latency_key,
//   &Host::latency}}; host_keys.read(section, host);
//   ... host_keys.parameters()
#pragma once

#include <tuple>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"

namespace tessera::config {

// A declaration (key.hpp), which must outlive it, and what it sets.
template <class Key, class Structure, class Value>
struct Member {
  const Key& key;
  Value Structure::*member;
};
template <class Key, class Structure, class Value>
Member(const Key&, Value Structure::*) -> Member<Key, Structure, Value>;

template <class... All>
class Members {
 public:
  explicit Members(const All&... all) : all_(all...) {}

  template <class Structure>
  void read(Section& section, Structure& structure) const {
    std::apply([&](const All&... one) { ((structure.*one.member = one.key.read(section)), ...); },
               all_);
  }
  std::vector<ParameterInfo> parameters() const {
    return std::apply([](const All&... one) { return std::vector<ParameterInfo>{one.key...}; },
                      all_);
  }

 private:
  std::tuple<All...> all_;
};

}  // namespace tessera::config
