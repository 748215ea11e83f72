// Keys that a user may set, each declared once: name, type, default, range and help in one place.
// Sections are read by the declaration, and what `tessera list`, its JSON and the schema for
// editors say is made from it:
//
//   const Key<Bytes> flit_size{"flit_size", Bytes(32),
//                              "bytes that the fastest link carries per cycle",
//                              at_least(Bytes(1))};
//   settings.flit = flit_size.read(section);
//   ... {"flit", "wormhole routers", {flit_size, buffer}}   // a part's parameters
//
//   Key          has a default          RequiredKey  must be given
//   OptionalKey  may be left out        DerivedKey   the reader works its default out
//   ChoiceKey    one of some names, as an enumerator or the like
//   NameKey      one of some names, as text (of a registry)
//   ListKey      a sequence
//   OtherKey     read by other means (mappings, files, shapes); declared only
//
// A name is that within the part, with the sections it is in: "experts.count" is read as `count`
// from the section `experts`.
//
// There are hundreds of declarations: what they need is compiled once, in this room's sources, for
// the types that keys have.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"

namespace tessera::config {

// Whole numbers of every width are read as 64 bits.
template <class T>
concept Keyed = Readable<T> || std::integral<T>;
template <Keyed T>
using Written = std::conditional_t<std::integral<T> && !std::same_as<T, bool>, std::int64_t, T>;

// The text that stands for a value in YAML, the name of its type ("size") and the unit that it is
// counted in ("B"); for every Readable type.
template <Readable T>
std::string written(const T& value);
template <Readable T>
std::string type_name();
template <Readable T>
std::string unit_name();

// The name of a key as it is declared, and where: in the file that writes it down.
class KeyName {
 public:
  template <std::convertible_to<std::string_view> Text>
  KeyName(const Text& text,  // NOLINT: declarations give texts
          std::source_location place = std::source_location::current())
      : text_(text), file_(place.file_name()) {}
  std::string_view text() const { return text_; }
  std::string_view file() const { return file_; }

 private:
  std::string_view text_;
  std::string_view file_;
};

// What all declarations have.
class Declared;
template <std::derived_from<Declared> T>
T of_cost(T key);
template <std::derived_from<Declared> T>
T counted_in(std::string unit, T key);

class Declared {
 public:
  const ParameterInfo& info() const { return info_; }
  operator ParameterInfo() const;  // NOLINT: tables are lists of declarations
  const std::string& name() const { return info_.name; }
  // Within its own section.
  std::string_view key() const {
    return std::string_view(info_.name).substr(info_.name.rfind('.') + 1);
  }

 protected:
  Declared(const KeyName& name, std::string_view unit, std::string_view usual,
           std::string_view help);

  ParameterInfo info_;

 private:
  template <std::derived_from<Declared> T>
  friend T of_cost(T key);
  template <std::derived_from<Declared> T>
  friend T counted_in(std::string unit, T key);
};

// The same key, with which results are the same whatever it says.
template <std::derived_from<Declared> T>
T of_cost(T key) {
  static_cast<Declared&>(key).info_.is_cost = true;
  return key;
}
// The same key, whose number counts these ("tiles").
template <std::derived_from<Declared> T>
T counted_in(std::string unit, T key) {
  static_cast<Declared&>(key).info_.unit = std::move(unit);
  return key;
}

// The limits of a type, where it can hold less than what it is read as.
template <Keyed T>
Range<Written<T>> limits_of(const Range<T>& range) {
  using Text = Written<T>;
  Range<Text> all;
  if (range.low) {
    all.low = static_cast<Text>(*range.low);
  }
  if (range.high) {
    all.high = static_cast<Text>(*range.high);
  }
  if constexpr (!std::same_as<T, Text>) {
    using Limits = std::numeric_limits<T>;
    if (!all.low && std::cmp_greater(Limits::min(), std::numeric_limits<Text>::min())) {
      all.low = static_cast<Text>(Limits::min());
    }
    if (!all.high && std::cmp_less(Limits::max(), std::numeric_limits<Text>::max())) {
      all.high = static_cast<Text>(Limits::max());
    }
  }
  return all;
}

// Of one value in a range.
template <Keyed T>
class Valued : public Declared {
 protected:
  using Text = Written<T>;

  Valued(const KeyName& name, std::string_view usual, std::string_view help, const Range<T>& range);

  Range<Text> range_;
};

template <Keyed T>
class Key final : public Valued<T> {
 public:
  Key(const KeyName& name, T usual, std::string_view help, const Range<T>& range = {});
  T read(Section& section) const;
  const T& usual() const { return usual_; }

 private:
  T usual_;
};

template <Keyed T>
class RequiredKey final : public Valued<T> {
 public:
  RequiredKey(const KeyName& name, std::string_view help, const Range<T>& range = {});
  // T{} after a complaint.
  T read(Section& section) const;
};

// `absent`: what it means to leave it out, in words.
template <Keyed T>
class OptionalKey final : public Valued<T> {
 public:
  OptionalKey(const KeyName& name, std::string_view absent, std::string_view help,
              const Range<T>& range = {});
  std::optional<T> read(Section& section) const;
};

// `words`: how the default follows from others ("4 * hidden").
template <Keyed T>
class DerivedKey final : public Valued<T> {
 public:
  DerivedKey(const KeyName& name, std::string_view words, std::string_view help,
             const Range<T>& range = {});
  T read(Section& section, T usual) const;
};

// What choices have whatever they stand for.
class Chosen : public Declared {
 protected:
  Chosen(const KeyName& name, std::string_view usual, std::string_view help);

  void add(std::string_view word) { info_.names.emplace_back(word); }
  // The place of the chosen one among all names; 0 after a complaint.
  std::size_t place_of(Section& section, std::string_view usual) const;
};

// One of some names, as what each stands for. Without `usual` it must be given; after a complaint
// it is the first.
template <class T>
class ChoiceKey final : public Chosen {
 public:
  using Choices = std::vector<std::pair<std::string, T>>;

  ChoiceKey(const KeyName& name, std::initializer_list<std::pair<std::string_view, T>> choices,
            std::string_view usual, std::string_view help)
      : Chosen(name, usual, help) {
    fill(choices);
  }
  ChoiceKey(const KeyName& name, const Choices& choices, std::string_view usual,
            std::string_view help)
      : Chosen(name, usual, help) {
    fill(choices);
  }
  // The default is the name of what `usual` is, so that a type's own initialiser states it.
  template <std::same_as<T> Usual>
  ChoiceKey(const KeyName& name, std::initializer_list<std::pair<std::string_view, T>> choices,
            const Usual& usual, std::string_view help)
      : ChoiceKey(name, choices, name_of(choices, usual), help) {}
  template <std::same_as<T> Usual>
  ChoiceKey(const KeyName& name, const Choices& choices, const Usual& usual, std::string_view help)
      : ChoiceKey(name, choices, name_of(choices, usual), help) {}
  T read(Section& section) const { return read(section, info_.default_value); }
  // With a default that the reader works out; the declared one is words then.
  T read(Section& section, std::string_view usual) const {
    return values_[place_of(section, usual)];
  }
  ChoiceKey derived() && {
    info_.is_value = info_.is_required = false;
    return std::move(*this);
  }

 private:
  static std::string_view name_of(const auto& choices, const T& usual) {
    const auto is_it = [&](const auto& choice) { return choice.second == usual; };
    return std::find_if(choices.begin(), choices.end(), is_it)->first;
  }
  void fill(const auto& choices) {
    for (const auto& [word, value] : choices) {
      add(word);
      values_.push_back(value);
    }
  }

  std::vector<T> values_;  // of the names, in their order
};

// One of some names, which are asked for when it is read, so that registries are full by then.
class NameKey final : public Declared {
 public:
  using Names = std::function<std::vector<std::string>()>;

  // `usual` empty: it must be given.
  NameKey(const KeyName& name, Names names, std::string_view usual, std::string_view help);
  std::string read(Section& section) const;
  // With a default that the reader works out; the declared one is words then.
  std::string read(Section& section, std::string_view usual) const;
  NameKey derived() &&;
  // With the names there are now.
  operator ParameterInfo() const;  // NOLINT: as of Declared

 private:
  Names names_;
};

template <Readable T>
class ListKey final : public Declared {
 public:
  ListKey(const KeyName& name, std::vector<T> usual, std::string_view help);
  std::vector<T> read(Section& section) const;

 private:
  std::vector<T> usual_;
};

// `type`: "mapping", "list", "file", "shape", …; `absent` as of OptionalKey; empty: it must be
// given.
class OtherKey final : public Declared {
 public:
  OtherKey(const KeyName& name, std::string_view type, std::string_view absent,
           std::string_view help);
};

// The bodies of the templates above.

template <Keyed T>
Valued<T>::Valued(const KeyName& name, std::string_view usual, std::string_view help,
                  const Range<T>& range)
    : Declared(name, unit_name<Text>(), usual, help), range_(limits_of(range)) {
  info_.type = type_name<Text>();
  info_.low = range_.low ? written<Text>(*range_.low) : "";
  info_.high = range_.high ? written<Text>(*range_.high) : "";
}

template <Keyed T>
Key<T>::Key(const KeyName& name, T usual, std::string_view help, const Range<T>& range)
    : Valued<T>(name, written<Written<T>>(usual), help, range), usual_(std::move(usual)) {
  this->info_.is_value = true;
}

template <Keyed T>
T Key<T>::read(Section& section) const {
  return static_cast<T>(
      section.get_or<Written<T>>(this->key(), static_cast<Written<T>>(usual_), this->range_));
}

template <Keyed T>
RequiredKey<T>::RequiredKey(const KeyName& name, std::string_view help, const Range<T>& range)
    : Valued<T>(name, "", help, range) {
  this->info_.is_required = true;
}

template <Keyed T>
T RequiredKey<T>::read(Section& section) const {
  return static_cast<T>(section.get<Written<T>>(this->key(), this->range_));
}

template <Keyed T>
OptionalKey<T>::OptionalKey(const KeyName& name, std::string_view absent, std::string_view help,
                            const Range<T>& range)
    : Valued<T>(name, absent, help, range) {}

template <Keyed T>
std::optional<T> OptionalKey<T>::read(Section& section) const {
  const auto value = section.get_optional<Written<T>>(this->key(), this->range_);
  return value ? std::optional<T>(static_cast<T>(*value)) : std::nullopt;
}

template <Keyed T>
DerivedKey<T>::DerivedKey(const KeyName& name, std::string_view words, std::string_view help,
                          const Range<T>& range)
    : Valued<T>(name, words, help, range) {}

template <Keyed T>
T DerivedKey<T>::read(Section& section, T usual) const {
  return static_cast<T>(
      section.get_or<Written<T>>(this->key(), static_cast<Written<T>>(usual), this->range_));
}

template <Readable T>
ListKey<T>::ListKey(const KeyName& name, std::vector<T> usual, std::string_view help)
    : Declared(name, unit_name<T>(), "", help), usual_(std::move(usual)) {
  info_.type = "list of " + type_name<T>();
  info_.is_value = true;
  info_.default_value = "[";
  for (const T& one : usual_) {
    info_.default_value += (info_.default_value.size() > 1 ? ", " : "") + written<T>(one);
  }
  info_.default_value += "]";
}

template <Readable T>
std::vector<T> ListKey<T>::read(Section& section) const {
  return section.get_list<T>(key(), usual_);
}

// What is compiled in this room's sources: texts of a type, and the keys that hold one.
#define TESSERA_CONFIG_TEXT_TEMPLATES(SPECIFIER, T) \
  SPECIFIER template std::string written(const T&); \
  SPECIFIER template std::string type_name<T>();    \
  SPECIFIER template std::string unit_name<T>()
#define TESSERA_CONFIG_KEY_TEMPLATES(SPECIFIER, T) \
  SPECIFIER template class Valued<T>;              \
  SPECIFIER template class Key<T>;                 \
  SPECIFIER template class RequiredKey<T>;         \
  SPECIFIER template class OptionalKey<T>;         \
  SPECIFIER template class DerivedKey<T>

TESSERA_CONFIG_TEXT_TEMPLATES(extern, bool);
TESSERA_CONFIG_TEXT_TEMPLATES(extern, std::int64_t);
TESSERA_CONFIG_TEXT_TEMPLATES(extern, double);
TESSERA_CONFIG_TEXT_TEMPLATES(extern, std::string);
TESSERA_CONFIG_TEXT_TEMPLATES(extern, Bytes);
TESSERA_CONFIG_TEXT_TEMPLATES(extern, Bandwidth);
TESSERA_CONFIG_TEXT_TEMPLATES(extern, SimTime);
TESSERA_CONFIG_TEXT_TEMPLATES(extern, Clock);
TESSERA_CONFIG_TEXT_TEMPLATES(extern, Flops);
TESSERA_CONFIG_TEXT_TEMPLATES(extern, FlopRate);
TESSERA_CONFIG_TEXT_TEMPLATES(extern, Fraction);

TESSERA_CONFIG_KEY_TEMPLATES(extern, bool);
TESSERA_CONFIG_KEY_TEMPLATES(extern, std::int32_t);
TESSERA_CONFIG_KEY_TEMPLATES(extern, std::int64_t);
TESSERA_CONFIG_KEY_TEMPLATES(extern, std::uint8_t);
TESSERA_CONFIG_KEY_TEMPLATES(extern, std::uint32_t);
TESSERA_CONFIG_KEY_TEMPLATES(extern, std::uint64_t);
TESSERA_CONFIG_KEY_TEMPLATES(extern, double);
TESSERA_CONFIG_KEY_TEMPLATES(extern, std::string);
TESSERA_CONFIG_KEY_TEMPLATES(extern, Bytes);
TESSERA_CONFIG_KEY_TEMPLATES(extern, Bandwidth);
TESSERA_CONFIG_KEY_TEMPLATES(extern, SimTime);
TESSERA_CONFIG_KEY_TEMPLATES(extern, Clock);
TESSERA_CONFIG_KEY_TEMPLATES(extern, Flops);
TESSERA_CONFIG_KEY_TEMPLATES(extern, FlopRate);
TESSERA_CONFIG_KEY_TEMPLATES(extern, Fraction);
extern template class ListKey<double>;
extern template class ListKey<std::int64_t>;
extern template class ListKey<std::string>;

}  // namespace tessera::config
