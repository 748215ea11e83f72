// Reads damaged ONNX models and Chakra traces: each must be read or refused as bad input, within
// the time allowed.
//
//     import_soak --count N --seed S [--first I] [--keep FILE] FILES...
//     import_soak --version
//
// File I of a seed is the same in every run; `--first I --count 1 --keep FILE` writes it out.
// Prints figures as JSON. Ends with 1 at an error that is none of bad input; a crash or a file that
// takes longer than 20 s ends the program, after it has said which one it was.
#include <onnx/onnx_pb.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string_view>
#include <vector>

#include "mutate.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/version.hpp"
#include "tessera/onnx/import.hpp"
#include "tessera/onnx/passes/optimize.hpp"
#include "tessera/workload/chakra/chakra.hpp"

namespace tessera::soak {
namespace {

constexpr unsigned allowed_seconds = 20;
// Of dynamic dimensions: images want multiples of 32.
constexpr std::array<std::int64_t, 8> side_sizes{1, 1, 2, 32, 64, 96, 512, 640};

struct Seed {
  std::string path;
  std::string bytes;
  bool is_model = false;
};

struct Outcome {
  std::uint64_t read = 0;
  std::uint64_t refused = 0;
};

// For what has to be said when the program is already lost.
volatile std::sig_atomic_t lost_is_written = 0;
std::uint64_t current = 0;

void say_current() {
  if (lost_is_written == 0) {
    lost_is_written = 1;
    const std::string text = "the file was number " + std::to_string(current) + "\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
  }
}

void on_signal(int signal) {
  say_current();
  if (signal == SIGALRM) {
    constexpr char text[] = "it took too long\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text, sizeof(text) - 1);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Sizes for what is dynamic, so that more than the inputs is looked at.
onnx::ImportOptions options_for(const std::string& bytes, Random& random) {
  onnx::ImportOptions options;
  ::onnx::ModelProto model;
  if (model.ParseFromString(bytes)) {
    for (const auto& input : model.graph().input()) {
      const auto& shape = input.type().tensor_type().shape();
      for (int i = 0; i < shape.dim_size(); ++i) {
        const auto& side = shape.dim(i);
        if (!side.has_dim_value() || side.dim_value() < 0) {
          const std::string place = input.name() + "." + std::to_string(i);
          const std::string& name = side.dim_param().empty() ? place : side.dim_param();
          options.dimensions[name] = side_sizes[pick(random, side_sizes.size())];
        }
      }
      if (shape.dim_size() == 0 && pick(random, 2) == 0) {
        options.values[input.name()] = {pick(random, 2) == 0 ? 16000.0 : 8000.0};
      }
    }
  }
  options.branches["*"] = pick(random, 2) == 0;
  if (pick(random, 2) == 0) {
    options.loops["*"] = static_cast<std::int64_t>(pick(random, 4));
  }
  options.unknown = pick(random, 2) == 0 ? onnx::Unknown::refuse : onnx::Unknown::traffic;
  return options;
}

void read_model(const std::string& bytes, Random& random) {
  onnx::Import model = onnx::import_model(bytes, "damaged.onnx", options_for(bytes, random));
  onnx::optimize(model.graph, static_cast<onnx::Level>(pick(random, 4)));
  onnx::total_cost(model.graph);
}

void read_trace(const std::string& bytes, const std::string& path) {
  std::ofstream(path, std::ios::binary) << bytes;
  workload::ChakraFile file(path);
  workload::GraphNode node;
  while (file.next(node)) {
  }
}

struct Request {
  std::uint64_t count = 100;
  std::uint64_t first = 0;
  std::uint64_t seed = 1;
  std::string keep;
  std::vector<Seed> seeds;
};

Request read_words(int argc, char** argv) {
  Request request;
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto value = [&] { return words.at(++i); };
    if (words[i] == "--count") {
      request.count = std::stoull(value());
    } else if (words[i] == "--first") {
      request.first = std::stoull(value());
    } else if (words[i] == "--seed") {
      request.seed = std::stoull(value());
    } else if (words[i] == "--keep") {
      request.keep = value();
    } else {
      request.seeds.push_back({words[i], text_of(words[i]), words[i].ends_with(".onnx")});
    }
  }
  return request;
}

// False for an error that is none of bad input.
bool run_one(const Request& request, std::uint64_t number, const std::string& scratch,
             std::map<bool, Outcome>& outcomes) {
  Random random(request.seed * 0x9E3779B97F4A7C15U + number);
  // As many models as traces, however many seeds of either there are.
  const bool model = pick(random, 2) == 0;
  std::size_t chosen = pick(random, request.seeds.size());
  for (std::size_t i = 0; i < request.seeds.size() && request.seeds[chosen].is_model != model;
       ++i) {
    chosen = (chosen + 1) % request.seeds.size();
  }
  const Seed& seed = request.seeds[chosen];
  const Seed& other = request.seeds[pick(random, request.seeds.size())];
  const bool content = seed.is_model && pick(random, 2) == 0;
  const std::string bytes =
      content ? damage_model(seed.bytes, random) : damage_bytes(seed.bytes, other.bytes, random);
  if (!request.keep.empty()) {
    std::ofstream(request.keep, std::ios::binary) << bytes;
  }
  try {
    if (seed.is_model) {
      read_model(bytes, random);
    } else {
      read_trace(bytes, scratch);
    }
    ++outcomes[seed.is_model].read;
  } catch (const ConfigError&) {
    ++outcomes[seed.is_model].refused;
  } catch (const std::exception& error) {
    std::cerr << "number " << number << " of " << seed.path << ": " << error.what() << std::endl;
    return false;
  }
  return true;
}

int run(const Request& request) {
  using Clock = std::chrono::steady_clock;
  const std::string scratch =
      (std::filesystem::temp_directory_path() / ("import_soak." + std::to_string(getpid())))
          .string();
  std::map<bool, Outcome> outcomes;
  double longest = 0;
  std::uint64_t slowest = 0;
  std::uint64_t failures = 0;
  for (std::uint64_t i = request.first; i < request.first + request.count && failures < 20; ++i) {
    current = i;
    alarm(allowed_seconds);
    const auto began = Clock::now();
    failures += run_one(request, i, scratch, outcomes) ? 0 : 1;
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    if (seconds > longest) {
      longest = seconds;
      slowest = i;
    }
  }
  alarm(0);
  std::filesystem::remove(scratch);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::cerr << "the slowest was number " << slowest << "\n";
  std::cout << "{\"models_read\": " << outcomes[true].read
            << ", \"models_refused\": " << outcomes[true].refused
            << ", \"traces_read\": " << outcomes[false].read
            << ", \"traces_refused\": " << outcomes[false].refused << ", \"failures\": " << failures
            << ", \"longest_s\": " << longest << ", \"memory_mb\": " << usage.ru_maxrss / 1024
            << "}" << std::endl;
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tessera::soak

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::cout << "tessera " << tessera::version() << " (" << tessera::git_hash() << ")"
              << std::endl;
    return 0;
  }
  for (const int signal : {SIGALRM, SIGFPE, SIGABRT}) {
    std::signal(signal, tessera::soak::on_signal);
  }
  try {
    const auto request = tessera::soak::read_words(argc, argv);
    if (request.seeds.empty()) {
      std::cerr << "no files given" << std::endl;
      return 2;
    }
    return tessera::soak::run(request);
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 2;
  }
}
