#include "store/process_identity.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "tessera/core/host.hpp"

namespace tessera::trace {
namespace {

// The first line; empty where there is none.
std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string user_name() {
  const uid_t user = ::geteuid();
  std::vector<char> buffer(std::size_t{1} << 14);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    return found->pw_name;
  }
  return "user " + std::to_string(user);
}

std::string pid_namespace() {
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self/ns/pid", unknown).string();
}

std::string now() {
  const std::time_t time = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text.data();
}

struct ProcessState {
  char letter;  // as in proc(5), /proc/PID/stat
  std::uint64_t started;
};

// Fields 3 and 22 of /proc/PID/stat; the name, field 2, may hold anything but ends with the last
// parenthesis.
std::optional<ProcessState> state_of(std::int64_t pid) {
  const std::string line = line_of("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) {
    return std::nullopt;
  }
  std::istringstream fields(line.substr(name_end + 1));
  ProcessState state{};
  fields >> state.letter;
  constexpr int fields_between = 18;
  std::string skipped;
  for (int field = 0; field < fields_between; ++field) {
    fields >> skipped;
  }
  fields >> state.started;
  return fields ? std::optional(state) : std::nullopt;
}

}  // namespace

ProcessIdentity own_identity() {
  ProcessIdentity own;
  own.user = user_name();
  own.host = host_name();
  own.machine = line_of("/etc/machine-id");
  own.boot = line_of("/proc/sys/kernel/random/boot_id");
  own.namespace_ = pid_namespace();
  own.pid = ::getpid();
  const std::optional<ProcessState> state = state_of(own.pid);
  own.started = state ? state->started : 0;
  own.since = now();
  return own;
}

Json to_json(const ProcessIdentity& identity) {
  return {{"user", identity.user},
          {"host", identity.host},
          {"machine", identity.machine},
          {"boot", identity.boot},
          {"pid_namespace", identity.namespace_},
          {"pid", identity.pid},
          {"started_ticks", identity.started},
          {"since", identity.since}};
}

std::optional<ProcessIdentity> identity_from(const std::string& text) {
  const std::optional<Json> json = Json::parse(text);
  if (!json) {
    return std::nullopt;
  }
  try {
    ProcessIdentity identity;
    json->at("user").get_to(identity.user);
    json->at("host").get_to(identity.host);
    json->at("machine").get_to(identity.machine);
    json->at("boot").get_to(identity.boot);
    json->at("pid_namespace").get_to(identity.namespace_);
    json->at("pid").get_to(identity.pid);
    json->at("started_ticks").get_to(identity.started);
    json->at("since").get_to(identity.since);
    return identity;
  } catch (const JsonError&) {
    return std::nullopt;
  }
}

Presence presence_of(const ProcessIdentity& other) {
  const ProcessIdentity own = own_identity();
  if (other.host != own.host || other.machine != own.machine || other.boot.empty() ||
      own.boot.empty()) {
    return Presence::unknown;
  }
  if (other.boot != own.boot) {
    // The same host, started again; without an identity it may be another of the same name.
    return own.machine.empty() ? Presence::unknown : Presence::gone;
  }
  if (other.namespace_ != own.namespace_ || own.started == 0 || other.started == 0) {
    return Presence::unknown;  // numbers in another container mean other processes
  }
  const std::optional<ProcessState> state = state_of(other.pid);
  const bool ended = !state || state->letter == 'Z' || state->letter == 'X';
  return ended || state->started != other.started ? Presence::gone : Presence::runs;
}

}  // namespace tessera::trace
