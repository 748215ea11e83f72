// Completion of words for shells, made from the commands' own tables. A script holds all it offers,
// so that no program starts while the user types.

#include <functional>
#include <iostream>
#include <map>

#include "tables/command_tables.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/core/text.hpp"

namespace tessera::cli {
namespace {

using Kind = Offer::Kind;
using Tables = std::vector<CommandTable>;

std::string spaced(const std::vector<std::string>& words) {
  return join(words, " ");
}

// With a backslash before each of these letters.
std::string escaped(const std::string& text, std::string_view letters) {
  std::string result;
  for (const char letter : text) {
    if (letters.find(letter) != std::string_view::npos) {
      result += '\\';
    }
    result += letter;
  }
  return result;
}

// In single quotes.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char letter : text) {
    result += letter == '\'' ? "'\\''" : std::string(1, letter);
  }
  return result + "'";
}

std::vector<std::string> names_of(const Tables& tables) {
  std::vector<std::string> names;
  for (const CommandTable& command : tables) {
    names.push_back(command.name);
  }
  return names;
}

std::string first_lines(const char* shell, const char* first) {
  return std::string(first) + "Completion of tessera, made by 'tessera completion " + shell +
         "'.\n";
}

// ---- bash

// Statement that fills COMPREPLY; empty: nothing is offered.
std::string bash_offer(const Offer& offer) {
  switch (offer.kind) {
    case Kind::words:
      return "_tessera_words '" + spaced(offer.words) + "'";
    case Kind::file:
      return "_tessera_files " + quoted(offer.ending);
    case Kind::folder:
      return "_tessera_folders";
    case Kind::setting:
      return "_tessera_settings";
    case Kind::nothing:
      break;
  }
  return ":";
}

std::string bash_command(const CommandTable& command) {
  std::vector<std::string> options;
  std::string values;
  for (const OptionTable::Row& row : command.options.rows) {
    options.push_back("--" + row.name);
    if (!row.shown.empty()) {
      values += "        --" + row.name + (row.short_name.empty() ? "" : "|-" + row.short_name) +
                ") " + bash_offer(offer_for(row)) + "; return ;;\n";
    }
  }
  const Offer subject = offer_for(command.options.subject, command.options.subjects);
  return "    " + command.name + ")\n" +
         (values.empty() ? "" : "      case $previous in\n" + values + "      esac\n") +
         "      if [[ $current == -* ]]; then\n        _tessera_words '" + spaced(options) +
         "'\n      else\n        " + bash_offer(subject) + "\n      fi ;;\n";
}

constexpr const char* bash_functions = R"(
_tessera_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
}

_tessera_folders() {
  compopt -o filenames
  mapfile -t COMPREPLY < <(compgen -d -- "$current")
}

# Files of an ending, and folders on the way there.
_tessera_files() {
  compopt -o filenames
  mapfile -t COMPREPLY < <(compgen -f -X "!*$1" -- "$current"; compgen -d -- "$current")
}

# Keys, and behind one what it takes.
_tessera_settings() {
  local key=${current%%=*}
  if [[ $current == *=* ]]; then
    mapfile -t COMPREPLY < <(compgen -P "$key=" -W "${_tessera_values[$key]}" -- "${current#*=}")
  else
    compopt -o nospace
    mapfile -t COMPREPLY < <(compgen -S = -W "$_tessera_keys" -- "$current")
  fi
}

# Words are cut at '=': what stands before is put back, and taken off what is offered.
_tessera() {
  local current=${COMP_WORDS[COMP_CWORD]} place=$COMP_CWORD cut=''
  COMPREPLY=()
  [[ $current == = ]] && current='' && ((place += 1))
  while ((place > 2)) && [[ ${COMP_WORDS[place-1]} == = ]]; do
    cut=${COMP_WORDS[place-2]}=$cut
    ((place -= 2))
  done
  local previous=${COMP_WORDS[place-1]}
  if [[ $cut == --* ]]; then
    previous=${cut%%=*}
    cut=${cut#*=}
  fi
  current=$cut$current
  _tessera_offer
  COMPREPLY=("${COMPREPLY[@]#"$cut"}")
}

_tessera_offer() {
)";

std::string bash_script(const Tables& tables) {
  std::string text = first_lines("bash", "# ") + "\n_tessera_keys='" + spaced(setting_keys()) +
                     "'\ndeclare -A _tessera_values=(\n";
  for (const auto& [key, names] : setting_values()) {
    text += "  [" + key + "]='" + spaced(names) + "'\n";
  }
  text += std::string(")\n") + bash_functions +
          "  if ((COMP_CWORD == 1)); then\n    _tessera_words '" + spaced(names_of(tables)) +
          " --help --version'\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n";
  for (const CommandTable& command : tables) {
    text += bash_command(command);
  }
  return text + "  esac\n}\n\ncomplete -F _tessera tessera\n";
}

// ---- zsh

std::string zsh_action(const Offer& offer) {
  switch (offer.kind) {
    case Kind::words:
      return "(" + spaced(offer.words) + ")";
    case Kind::file:
      return offer.ending.empty() ? "_files" : "_files -g \"*" + offer.ending + "\"";
    case Kind::folder:
      return "_files -/";
    case Kind::setting:
      return "_tessera_settings";
    case Kind::nothing:
      break;
  }
  return " ";
}

// What stands before a colon in a specification.
std::string zsh_text(const std::string& text) {
  return escaped(text, "\\[]:");
}

std::string zsh_option(const OptionTable::Row& row) {
  std::string rest = "[" + zsh_text(row.help) + "]";
  if (!row.shown.empty()) {
    rest += ":" + zsh_text(row.shown) + ":" + zsh_action(offer_for(row));
  }
  const std::string star = row.repeats ? "*" : "";
  std::string text = "      " + quoted(star + "--" + row.name + rest);
  if (!row.short_name.empty()) {
    text += " " + quoted(star + "-" + row.short_name + rest);
  }
  return text;
}

std::string zsh_command(const CommandTable& command) {
  std::string text = "    " + command.name + ") _arguments \\\n";
  for (const OptionTable::Row& row : command.options.rows) {
    text += zsh_option(row) + " \\\n";
  }
  const std::string& subject = command.options.subject;
  return text + "      " +
         quoted("1:" + zsh_text(subject) + ":" +
                zsh_action(offer_for(subject, command.options.subjects))) +
         " ;;\n";
}

std::string zsh_script(const Tables& tables) {
  std::string text = "#compdef tessera\n" + first_lines("zsh", "# ") + "\n_tessera_settings() {\n" +
                     "  local -a keys=(" + spaced(setting_keys()) + ")\n  local -A values=(\n";
  for (const auto& [key, names] : setting_values()) {
    text += "    " + key + " " + quoted(spaced(names)) + "\n";
  }
  text +=
      "  )\n  local key=${PREFIX%%=*}\n  if [[ $PREFIX == *=* ]]; then\n    compset -P '*='\n"
      "    compadd -- ${=values[$key]}\n  else\n    compadd -S = -a keys\n  fi\n}\n\n"
      "_tessera() {\n  local -a commands=(\n";
  for (const CommandTable& command : tables) {
    text += "    " + quoted(command.name + ":" + zsh_text(command.help)) + "\n";
  }
  text +=
      "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n  fi\n"
      "  local command=$words[2]\n  shift words\n  ((CURRENT -= 1))\n  case $command in\n";
  for (const CommandTable& command : tables) {
    text += zsh_command(command);
  }
  return text + "  esac\n}\n\ncompdef _tessera tessera\n";
}

// ---- fish

std::string fish_offer(const Offer& offer) {
  switch (offer.kind) {
    case Kind::words:
      return " -a " + quoted(spaced(offer.words));
    case Kind::file:
      return " -a " + quoted("(__fish_complete_suffix " +
                             (offer.ending.empty() ? std::string("''") : offer.ending) + ")");
    case Kind::folder:
      return " -a '(__fish_complete_directories)'";
    case Kind::setting:
      return " -a '$__tessera_keys= $__tessera_settings'";
    case Kind::nothing:
      break;
  }
  return "";
}

std::string fish_command(const CommandTable& command) {
  const std::string line =
      "complete -c tessera -n '__fish_seen_subcommand_from " + command.name + "'";
  std::string text = "complete -c tessera -n __fish_use_subcommand -a " + command.name + " -d " +
                     quoted(command.help) + "\n" + line +
                     fish_offer(offer_for(command.options.subject, command.options.subjects)) +
                     "\n";
  for (const OptionTable::Row& row : command.options.rows) {
    text += line + " -l " + row.name + (row.short_name.empty() ? "" : " -s " + row.short_name) +
            (row.shown.empty() ? "" : " -x" + fish_offer(offer_for(row))) + " -d " +
            quoted(row.help) + "\n";
  }
  return text;
}

std::string fish_script(const Tables& tables) {
  std::string text = first_lines("fish", "# ") + "set -g __tessera_keys " + spaced(setting_keys()) +
                     "\nset -g __tessera_settings";
  for (const auto& [key, names] : setting_values()) {
    for (const std::string& name : names) {
      text += " " + key + "=" + name;
    }
  }
  text += "\ncomplete -c tessera -f\n";
  for (const CommandTable& command : tables) {
    text += fish_command(command);
  }
  return text;
}

using Shells = std::map<std::string, std::function<std::string(const Tables&)>>;

const Shells& shells() {
  static const Shells list{{"bash", bash_script}, {"fish", fish_script}, {"zsh", zsh_script}};
  return list;
}

std::vector<std::string> shell_names() {
  std::vector<std::string> names;
  for (const auto& [name, script] : shells()) {
    names.push_back(name);
  }
  return names;
}

int completion_command(const Words& words, comm::Communicator& world) {
  Options options("completion",
                  "Print the script for the completion of commands, options and keys in a shell: " +
                      join(shell_names()) + ".",
                  "shell", "SHELL");
  options.offer_subjects(shell_names());
  if (!options.parse(words, world)) {
    return 0;
  }
  const std::string shell = options.subject();
  if (!shells().contains(shell)) {
    throw ConfigError(unknown_name("shell", shell, shell_names()));
  }
  if (world.rank() == 0) {
    std::cout << shells().at(shell)(command_tables(world));
  }
  return 0;
}

const Registration completion_registration(
    commands(), {"completion", "print the completion script of a shell", {}},
    Command{"completion SHELL", completion_command});

}  // namespace
}  // namespace tessera::cli
