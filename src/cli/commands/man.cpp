// Manual pages, made from the commands' own tables, in the macros of man(7).

#include <filesystem>
#include <iostream>

#include "tables/command_tables.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/core/text.hpp"
#include "tessera/core/version.hpp"
#include "tessera/trace/run_folder.hpp"

namespace tessera::cli {
namespace {

// As text: no hyphens that break lines, no requests.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    result += letter == '\\' ? "\\e" : letter == '-' ? "\\-" : std::string(1, letter);
  }
  return result.starts_with('.') || result.starts_with('\'') ? "\\&" + result : result;
}

std::string bold(const std::string& text) {
  return "\\fB" + escaped(text) + "\\fR";
}

std::string italic(const std::string& text) {
  return "\\fI" + escaped(text) + "\\fR";
}

std::string upper(std::string text) {
  for (char& letter : text) {
    letter = letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  }
  return text;
}

std::string head(const std::string& page, const std::string& help) {
  return ".TH " + upper(page) + " 1 \"\" \"tessera " + std::string(version()) +
         "\" \"User Commands\"\n.SH NAME\n" + escaped(page) + " \\- " + escaped(help) +
         "\n.SH SYNOPSIS\n";
}

std::string entry(const std::string& what, const std::string& help) {
  return ".TP\n" + what + "\n" + escaped(help) + "\n";
}

std::string option(const OptionTable::Row& row) {
  std::string what = row.short_name.empty() ? "" : bold("-" + row.short_name) + ", ";
  what += bold("--" + row.name);
  if (!row.shown.empty()) {
    what += " " + italic(row.shown);
  }
  std::string help = row.help;
  if (!row.names.empty() && help.find(row.names.front()) == std::string::npos) {
    help += ": " + join(row.names);
  }
  if (!row.by_default.empty()) {
    help += " (default: " + row.by_default + ")";
  }
  return entry(what, help);
}

std::string exit_status() {
  std::string text = ".SH EXIT STATUS\n";
  for (const auto& [code, why] : exit_codes()) {
    text += entry(bold(std::to_string(code)), why);
  }
  return text;
}

std::string page_of(const CommandTable& command) {
  std::string text = head("tessera-" + command.name, command.help) + bold("tessera") + " " +
                     escaped(command.usage) + "\n.SH DESCRIPTION\n" +
                     escaped(command.options.help) + "\n.SH OPTIONS\n";
  for (const OptionTable::Row& row : command.options.rows) {
    text += option(row);
  }
  return text + exit_status() + ".SH SEE ALSO\n.BR tessera (1)\n";
}

std::string page_of_all(const std::vector<CommandTable>& tables) {
  std::string text =
      head("tessera", "simulator of wafer-scale machines and clusters of AI accelerators") +
      bold("tessera") + " " + italic("COMMAND") + " [" + italic("options") +
      "]\n.SH DESCRIPTION\n" +
      escaped(
          "Simulates machines with many accelerators that run deep-learning models; runs as one "
          "process or under mpirun. Each command has its own page.") +
      "\n.SH COMMANDS\n";
  for (const CommandTable& command : tables) {
    text += entry(bold(command.usage), command.help);
  }
  text += exit_status() + ".SH SEE ALSO\n";
  for (const CommandTable& command : tables) {
    text += ".BR tessera\\-" + command.name + " (1)\n";
  }
  return text;
}

// Page by name: "tessera", "tessera-run".
std::vector<std::pair<std::string, std::string>> pages(comm::Communicator& world) {
  const std::vector<CommandTable> tables = command_tables(world);
  std::vector<std::pair<std::string, std::string>> all{{"tessera", page_of_all(tables)}};
  for (const CommandTable& command : tables) {
    all.emplace_back("tessera-" + command.name, page_of(command));
  }
  return all;
}

void write_all(const std::string& folder, comm::Communicator& world) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  require_folder(folder);
  for (const auto& [name, text] : pages(world)) {
    trace::write_file_atomically((std::filesystem::path(folder) / (name + ".1")).string(), text);
  }
}

int man_command(const Words& words, comm::Communicator& world) {
  Options options("man", "Print a page of the manual, or write all pages to files.", "command",
                  "[COMMAND]");
  options.offer_subjects(commands().names())
      .add("o,output", "write all pages into this folder, as tessera-COMMAND.1", text_value(),
           "DIR");
  if (!options.parse(words, world)) {
    return 0;
  }
  if (options.has_subject() && !commands().contains(options.subject())) {
    throw ConfigError(unknown_name("command", options.subject(), commands().names()));
  }
  if (world.rank() != 0) {
    return 0;
  }
  if (options.has("output")) {
    write_all(options.text("output"), world);
    return 0;
  }
  const std::string wanted = options.has_subject() ? "tessera-" + options.subject() : "tessera";
  for (const auto& [name, text] : pages(world)) {
    if (name == wanted) {
      std::cout << text;
    }
  }
  return 0;
}

const Registration man_registration(commands(), {"man", "print or write pages of the manual", {}},
                                    Command{"man [COMMAND] [options]", man_command});

}  // namespace
}  // namespace tessera::cli
