#include "tessera/config/key.hpp"

#include <utility>

#include "scalar.hpp"

namespace tessera::config {

template <Readable T>
std::string written(const T& value) {
  return to_text(value);
}

template <Readable T>
std::string type_name() {
  if constexpr (std::same_as<T, bool>) {
    return "boolean";
  } else if constexpr (std::same_as<T, std::int64_t>) {
    return "integer";
  } else if constexpr (std::same_as<T, double>) {
    return "number";
  } else if constexpr (std::same_as<T, std::string>) {
    return "text";
  } else if constexpr (std::same_as<T, Bytes>) {
    return "size";
  } else if constexpr (std::same_as<T, Bandwidth>) {
    return "bandwidth";
  } else if constexpr (std::same_as<T, SimTime>) {
    return "time";
  } else if constexpr (std::same_as<T, Clock>) {
    return "frequency";
  } else if constexpr (std::same_as<T, Flops>) {
    return "operations";
  } else if constexpr (std::same_as<T, FlopRate>) {
    return "rate of operations";
  } else {
    return "fraction";
  }
}

template <Readable T>
std::string unit_name() {
  if constexpr (std::same_as<T, Bytes>) {
    return "B";
  } else if constexpr (std::same_as<T, Bandwidth>) {
    return "B/s";
  } else if constexpr (std::same_as<T, SimTime>) {
    return "ps";
  } else if constexpr (std::same_as<T, Clock>) {
    return "Hz";
  } else if constexpr (std::same_as<T, Flops>) {
    return "FLOP";
  } else if constexpr (std::same_as<T, FlopRate>) {
    return "FLOP/s";
  } else {
    return "";
  }
}

NameKey::NameKey(std::string name, Names names, std::string usual, std::string help)
    : Declared({std::move(name), "", std::move(usual), std::move(help)}), names_(std::move(names)) {
  info_.type = "name";
  info_.is_value = !info_.default_value.empty();
  info_.is_required = info_.default_value.empty();
}

std::string NameKey::read(Section& section) const {
  return read(section, info_.default_value);
}

std::string NameKey::read(Section& section, std::string_view usual) const {
  return section.get_name(key(), names_(), usual);
}

NameKey NameKey::derived() && {
  info_.is_value = info_.is_required = false;
  return std::move(*this);
}

NameKey::operator ParameterInfo() const {
  ParameterInfo info = info_;
  info.names = names_();
  return info;
}

OtherKey::OtherKey(std::string name, std::string type, std::string absent, std::string help)
    : Declared({std::move(name), "", std::move(absent), std::move(help)}) {
  info_.type = std::move(type);
  info_.is_required = info_.default_value.empty();
}

TESSERA_CONFIG_KEY_TEMPLATES(, bool);
TESSERA_CONFIG_KEY_TEMPLATES(, std::int64_t);
TESSERA_CONFIG_KEY_TEMPLATES(, double);
TESSERA_CONFIG_KEY_TEMPLATES(, std::string);
TESSERA_CONFIG_KEY_TEMPLATES(, Bytes);
TESSERA_CONFIG_KEY_TEMPLATES(, Bandwidth);
TESSERA_CONFIG_KEY_TEMPLATES(, SimTime);
TESSERA_CONFIG_KEY_TEMPLATES(, Clock);
TESSERA_CONFIG_KEY_TEMPLATES(, Flops);
TESSERA_CONFIG_KEY_TEMPLATES(, FlopRate);
TESSERA_CONFIG_KEY_TEMPLATES(, Fraction);

}  // namespace tessera::config
