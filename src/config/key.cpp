#include "tessera/config/key.hpp"

#include <algorithm>
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

Declared::Declared(const KeyName& name, std::string_view unit, std::string_view usual,
                   std::string_view help)
    : info_{std::string(name.text()), std::string(unit), std::string(usual), std::string(help)} {
  info_.source = name.file();
}

Declared::operator ParameterInfo() const {
  return info_;
}

Chosen::Chosen(const KeyName& name, std::string_view usual, std::string_view help)
    : Declared(name, "", usual, help) {
  info_.type = "name";
  info_.is_value = !usual.empty();
  info_.is_required = usual.empty();
}

std::size_t Chosen::place_of(Section& section, std::string_view usual) const {
  const std::string chosen = section.get_name(key(), info_.names, usual);
  const auto found = std::find(info_.names.begin(), info_.names.end(), chosen);
  return found == info_.names.end() ? 0 : static_cast<std::size_t>(found - info_.names.begin());
}

NameKey::NameKey(const KeyName& name, Names names, std::string_view usual, std::string_view help)
    : Declared(name, "", usual, help), names_(std::move(names)) {
  info_.type = "name";
  info_.is_value = !usual.empty();
  info_.is_required = usual.empty();
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

OtherKey::OtherKey(const KeyName& name, std::string_view type, std::string_view absent,
                   std::string_view help)
    : Declared(name, "", absent, help) {
  info_.type = type;
  info_.is_required = absent.empty();
}

TESSERA_CONFIG_TEXT_TEMPLATES(, bool);
TESSERA_CONFIG_TEXT_TEMPLATES(, std::int64_t);
TESSERA_CONFIG_TEXT_TEMPLATES(, double);
TESSERA_CONFIG_TEXT_TEMPLATES(, std::string);
TESSERA_CONFIG_TEXT_TEMPLATES(, Bytes);
TESSERA_CONFIG_TEXT_TEMPLATES(, Bandwidth);
TESSERA_CONFIG_TEXT_TEMPLATES(, SimTime);
TESSERA_CONFIG_TEXT_TEMPLATES(, Clock);
TESSERA_CONFIG_TEXT_TEMPLATES(, Flops);
TESSERA_CONFIG_TEXT_TEMPLATES(, FlopRate);
TESSERA_CONFIG_TEXT_TEMPLATES(, Fraction);

TESSERA_CONFIG_KEY_TEMPLATES(, bool);
TESSERA_CONFIG_KEY_TEMPLATES(, std::int32_t);
TESSERA_CONFIG_KEY_TEMPLATES(, std::int64_t);
TESSERA_CONFIG_KEY_TEMPLATES(, std::uint8_t);
TESSERA_CONFIG_KEY_TEMPLATES(, std::uint32_t);
TESSERA_CONFIG_KEY_TEMPLATES(, std::uint64_t);
TESSERA_CONFIG_KEY_TEMPLATES(, double);
TESSERA_CONFIG_KEY_TEMPLATES(, std::string);
TESSERA_CONFIG_KEY_TEMPLATES(, Bytes);
TESSERA_CONFIG_KEY_TEMPLATES(, Bandwidth);
TESSERA_CONFIG_KEY_TEMPLATES(, SimTime);
TESSERA_CONFIG_KEY_TEMPLATES(, Clock);
TESSERA_CONFIG_KEY_TEMPLATES(, Flops);
TESSERA_CONFIG_KEY_TEMPLATES(, FlopRate);
TESSERA_CONFIG_KEY_TEMPLATES(, Fraction);
template class ListKey<double>;
template class ListKey<std::int64_t>;
template class ListKey<std::string>;

}  // namespace tessera::config
