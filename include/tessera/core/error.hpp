// The kinds of failure. A library room throws one of these; only `main` prints and exits.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/ids.hpp"
#include "tessera/core/time.hpp"

namespace tessera {

// Root of all errors of Tessera; `exit_code()` is what the program ends with.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  virtual int exit_code() const = 0;
};

// One complaint about the user's input, with its place. `line` and `column` count from 1; 0 means
// that the complaint is about the file as a whole.
struct Diagnostic {
  std::string file;
  int line = 0;
  int column = 0;
  std::string message;

  // "machine.yaml:4:3: error: network.bandwith: unknown key; did you mean 'bandwidth'?"
  std::string to_string() const;
};

// The user's input is wrong (exit 2). Holds every complaint found, in file order; `what()` is one
// line for each.
class ConfigError : public Error {
 public:
  explicit ConfigError(std::vector<Diagnostic> diagnostics);
  explicit ConfigError(std::string message)
      : ConfigError(Diagnostic{"", 0, 0, std::move(message)}) {}
  explicit ConfigError(Diagnostic diagnostic)
      : ConfigError(std::vector<Diagnostic>{std::move(diagnostic)}) {}
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  int exit_code() const override { return 2; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

// The input is valid but the simulation cannot go on: deadlock, overflow of time (exit 3).
class ModelError : public Error {
 public:
  explicit ModelError(const std::string& message, SimTime time = SimTime::never(),
                      EntityId entity = EntityId::none());
  SimTime time() const { return time_; }
  EntityId entity() const { return entity_; }
  // Throws an error of the same kind, with a place where it has none yet.
  [[noreturn]] virtual void throw_placed(SimTime time, EntityId entity) const;
  int exit_code() const override { return 3; }

 protected:
  ModelError placed(SimTime time, EntityId entity) const;

 private:
  std::string message_;
  SimTime time_;
  EntityId entity_;
};

// A defect of Tessera itself (exit 70).
class InternalError : public Error {
 public:
  explicit InternalError(const std::string& message,
                         std::source_location where = std::source_location::current());
  int exit_code() const override { return 70; }
};

// A file could not be read or written (exit 74). `path` and the system's reason are in the text.
class IoError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 74; }
};

// The user asked the run to stop; it can be resumed or read as far as it went (exit 75).
class StopRequested : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 75; }
};

// Throws InternalError when `condition` does not hold.
inline void ensure(bool condition, const char* message,
                   std::source_location where = std::source_location::current()) {
  if (!condition) [[unlikely]] {
    throw InternalError(message, where);
  }
}

}  // namespace tessera
