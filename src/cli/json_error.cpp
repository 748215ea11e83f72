#include "json_error.hpp"

#include <algorithm>
#include <vector>

namespace tessera::cli {
namespace {

using trace::JsonText;

void put_complaint(JsonText& json, const Diagnostic& complaint) {
  const auto place = [&](int number) {
    return complaint.line == 0 ? JsonText::null() : JsonText(number);
  };
  json.put("message", complaint.message)
      .put("file", complaint.file.empty() ? JsonText::null() : JsonText(complaint.file))
      .put("line", place(complaint.line))
      .put("column", place(complaint.column));
}

JsonText object_of(const std::vector<Diagnostic>& complaints, int exit_code, int rank) {
  JsonText list = JsonText::list();
  for (const Diagnostic& complaint : complaints) {
    JsonText each = JsonText::object();
    put_complaint(each, complaint);
    list.add(each);
  }
  JsonText error = JsonText::object();
  put_complaint(error, complaints.front());
  error.put("exit_code", exit_code)
      .put("rank", rank < 0 ? JsonText::null() : JsonText(rank))
      .put("complaints", list);
  return JsonText::object().put("error", error);
}

// Of "PATH: error: REASON", as errors about files are, or of "error: REASON".
Diagnostic complaint_of(const std::string& text) {
  constexpr std::string_view head = "error: ";
  const std::size_t at = text.find(": " + std::string(head));
  if (at != std::string::npos) {
    return {text.substr(0, at), 0, 0, text.substr(at + 2 + head.size())};
  }
  return {"", 0, 0, text.starts_with(head) ? text.substr(head.size()) : text};
}

}  // namespace

bool asks_for_json(const Words& words) {
  return std::find(words.begin(), words.end(), "--json") != words.end();
}

JsonText error_json(const std::string& message, int exit_code, int rank) {
  return object_of({complaint_of(message)}, exit_code, rank);
}

JsonText error_json(const Error& error, int rank) {
  const auto* const input = dynamic_cast<const ConfigError*>(&error);
  return input != nullptr && !input->diagnostics().empty()
             ? object_of(input->diagnostics(), error.exit_code(), rank)
             : error_json(error.what(), error.exit_code(), rank);
}

}  // namespace tessera::cli
