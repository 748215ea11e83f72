#include "tessera/cli/options.hpp"

#include <algorithm>
#include <cxxopts.hpp>
#include <iostream>

#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"

namespace tessera::cli {
namespace {

constexpr const char* subject_option = "subject";

std::int64_t whole_number(const std::string& name, const std::string& text, std::int64_t low,
                          std::int64_t high) {
  std::string problem;
  const auto number = config::parse_as<std::int64_t>(text, problem);
  if (!number) {
    throw ConfigError("--" + name + ": " + problem);
  }
  if (*number < low || *number > high) {
    throw ConfigError("--" + name + ": must be between " + std::to_string(low) + " and " +
                      std::to_string(high) + "; got " + std::to_string(*number));
  }
  return *number;
}

std::string with_article(const std::string& noun) {
  return (std::string("aeiou").find(noun.front()) == std::string::npos ? "a " : "an ") + noun;
}

// "o,output", "help" or "h,help": the long one.
std::string long_name(const std::string& names) {
  return names.substr(names.find(',') + 1);
}

}  // namespace

struct Options::Parser {
  cxxopts::Options description;
  cxxopts::ParseResult given;
};

Options::Options(const std::string& command, const std::string& help, const std::string& subject,
                 const std::string& shown)
    : command_(command),
      help_(help),
      subject_(subject),
      shown_(shown),
      parser_(std::make_unique<Parser>(Parser{cxxopts::Options("tessera " + command, help), {}})) {
  parser_->description.positional_help(shown);
  add(subject_option, subject, text_value(), "").add("h,help", "this text");
  parser_->description.parse_positional({subject_option});
}
Options::~Options() = default;
Options::Options(Options&&) noexcept = default;
Options& Options::operator=(Options&&) noexcept = default;

Options& Options::add(const std::string& names, const std::string& help, const OptionValue& value,
                      const std::string& shown) {
  const std::shared_ptr<cxxopts::Value> taken =
      value.repeats ? cxxopts::value<std::vector<std::string>>() : cxxopts::value<std::string>();
  values_[long_name(names)] = value;
  if (value.by_default) {
    taken->default_value(*value.by_default);
  }
  parser_->description.add_options()(names, help, taken, shown);
  return *this;
}

Options& Options::add(const std::string& names, const std::string& help) {
  parser_->description.add_options()(names, help);
  return *this;
}

void Options::add_settings(const std::string& help) {
  add("set", help, texts_value(), "KEY=VALUE");
}

Options& Options::take_more() {
  takes_more_ = true;
  return *this;
}

Options& Options::offer_subjects(std::vector<std::string> names) {
  subjects_ = std::move(names);
  return *this;
}

OptionTable Options::table() const {
  OptionTable table{help_, shown_, subjects_, {}};
  for (const cxxopts::HelpOptionDetails& option : parser_->description.group_help("").options) {
    const std::string& name = option.l.front();
    if (name == subject_option) {
      continue;
    }
    OptionTable::Row row{option.s,
                         name,
                         option.is_boolean ? "" : option.arg_help,
                         option.desc,
                         option.has_default && !option.is_boolean ? option.default_value : "",
                         option.is_container,
                         {},
                         {}};
    if (const auto value = values_.find(name); value != values_.end()) {
      row.names = value->second.names;
      row.offered = value->second.offered;
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Words Options::with_implied(const Words& words) const {
  Words all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_alone = i + 1 == words.size() || words[i + 1].starts_with("-");
    const auto value =
        words[i].starts_with("--") ? values_.find(words[i].substr(2)) : values_.end();
    all.push_back(is_alone && value != values_.end() && !value->second.alone.empty()
                      ? words[i] + "=" + value->second.alone
                      : words[i]);
  }
  return all;
}

void Options::refuse_other_names() const {
  for (const auto& [name, value] : values_) {
    if (!has(name) || value.names.empty()) {
      continue;
    }
    const std::string given = text(name);
    if (std::find(value.names.begin(), value.names.end(), given) == value.names.end()) {
      throw ConfigError("--" + name + ": " + unknown_name("value", given, value.names));
    }
  }
}

void Options::refuse_empty_texts() const {
  for (const cxxopts::KeyValue& given : parser_->given.arguments()) {
    if (values_.contains(given.key()) && given.value().empty()) {
      throw ConfigError(given.key() == subject_option
                            ? "the name of " + with_article(subject_) + " is empty"
                            : "--" + given.key() + ": is empty" + see_help());
    }
  }
  for (const std::string& more : parser_->given.unmatched()) {
    if (more.empty()) {
      throw ConfigError("the name of " + with_article(subject_) + " is empty");
    }
  }
}

bool Options::parse(const Words& words, const comm::Communicator& world) {
  if (words.size() == 1 && words.front() == describe_word) {
    throw Described{table()};
  }
  const Words all = with_implied(words);
  std::vector<const char*> pointers{parser_->description.program().c_str()};
  for (const std::string& word : all) {
    pointers.push_back(word.c_str());
  }
  try {
    parser_->given = parser_->description.parse(static_cast<int>(pointers.size()), pointers.data());
  } catch (const cxxopts::exceptions::exception& error) {
    throw ConfigError(error.what() + see_help());
  }
  if (flag("help")) {
    std::cout << (world.rank() == 0 ? parser_->description.help() : "");
    return false;
  }
  if (!takes_more_ && !parser_->given.unmatched().empty()) {
    throw ConfigError("'" + parser_->given.unmatched().front() +
                      "' is one word too many: tessera " + command_ + " takes one " + subject_ +
                      see_help());
  }
  refuse_empty_texts();
  refuse_other_names();
  return true;
}

int Options::times(const std::string& name) const {
  return static_cast<int>(parser_->given.count(name));
}

bool Options::flag(const std::string& name) const {
  return has(name) && parser_->given[name].as<bool>();
}

std::string Options::text(const std::string& name) const {
  return parser_->given[name].as<std::string>();
}

bool Options::has_default(const std::string& name) const {
  return parser_->given[name].has_default();
}

bool Options::has_subject() const {
  return has(subject_option);
}

std::string Options::subject() const {
  if (!has_subject()) {
    throw ConfigError("no " + subject_ + " given" + see_help());
  }
  return text(subject_option);
}

std::vector<std::string> Options::subjects() const {
  std::vector<std::string> all{subject()};
  const std::vector<std::string>& more = parser_->given.unmatched();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<std::string> Options::texts(const std::string& name) const {
  return has(name) ? parser_->given[name].as<std::vector<std::string>>()
                   : std::vector<std::string>();
}

std::int64_t Options::number(const std::string& name, std::int64_t low, std::int64_t high) const {
  return whole_number(name, text(name), low, high);
}

std::vector<std::int64_t> Options::numbers(const std::string& name, std::int64_t low,
                                           std::int64_t high) const {
  std::vector<std::int64_t> found;
  for (const std::string& each : texts(name)) {
    found.push_back(whole_number(name, each, low, high));
  }
  return found;
}

void Options::refuse_beside_resume(const std::string& holder,
                                   std::initializer_list<const char*> others) const {
  std::string other = has_subject() ? with_article(subject_) : "";
  for (const char* name : others) {
    if (other.empty() && has(name)) {
      other = std::string("--") + name;
    }
  }
  if (!other.empty()) {
    throw ConfigError("--resume goes on with what " + holder +
                      " holds; it does not go together with " + other);
  }
}

}  // namespace tessera::cli
