#include "cuts/idle_ranks.hpp"

#include <chrono>
#include <memory>
#include <string>

#include "tessera/core/error.hpp"

namespace tessera::sim {
namespace {

// An idle rank looks for signals as often.
constexpr std::chrono::milliseconds look_period(50);
// The first rank hears idle ones every so many times that it is asked whether to stop.
constexpr std::uint32_t asked_between_looks = 64;

// Said in place of a status: the run has thrown, and its exit code follows.
constexpr const char* failed = "failed by an error";

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// Waits for what the first rank says at the end of its run, which is the summary's status and
// message on two lines.
trace::Summary wait_for_end(comm::Communicator& communicator, const RunHooks& hooks) {
  trace::Summary summary;
  bool has_told = false;
  const comm::BatchSink sink = [&summary](int, std::span<const std::byte> batch) {
    const std::string text(reinterpret_cast<const char*>(batch.data()), batch.size());
    const std::size_t end = text.find('\n');
    summary.status = text.substr(0, end);
    summary.message = text.substr(end + 1);
  };
  while (summary.status.empty()) {
    if (!has_told && hooks.stop_requested && hooks.stop_requested()) {
      has_told = true;
      communicator.post_async(0, {});
    }
    if (hooks.on_round) {
      hooks.on_round({});
    }
    communicator.await_async(look_period);
    communicator.receive_async(sink);
  }
  if (summary.status == failed) {
    throw comm::Aborted(std::stoi(summary.message));
  }
  return summary;
}

// Takes what idle ranks ask for; whether one asked for a stop.
bool hear(comm::Communicator& communicator) {
  bool asked = false;
  communicator.receive_async([&asked](int, std::span<const std::byte>) { asked = true; });
  return asked;
}

}  // namespace

trace::Summary run_on_first(
    int ranks, comm::Communicator& communicator, const RunRequest& request,
    const std::function<trace::Summary(comm::Communicator&, const RunRequest&)>& run) {
  const std::unique_ptr<comm::Communicator> part = communicator.first(ranks);
  if (!part) {
    trace::Summary summary = wait_for_end(communicator, request.hooks);
    communicator.barrier();
    return summary;
  }
  RunRequest heard = request;
  if (part->rank() == 0) {
    heard.hooks.stop_requested = [&communicator, &request, asked = std::uint32_t{0},
                                  stop = false]() mutable {
      if (asked++ % asked_between_looks == 0) {
        stop = hear(communicator) || stop;
      }
      return stop || (request.hooks.stop_requested && request.hooks.stop_requested());
    };
  }
  const auto tell = [&](const std::string& text) {
    for (int rank = ranks; part->rank() == 0 && rank < communicator.size(); ++rank) {
      communicator.post_async(rank, bytes_of(text));
    }
  };
  trace::Summary summary;
  try {
    summary = run(*part, heard);
  } catch (const Error& error) {
    tell(std::string(failed) + "\n" + std::to_string(error.exit_code()));
    throw;
  }
  tell(summary.status + "\n" + summary.message);
  communicator.barrier();  // whoever asked for a stop has done so
  hear(communicator);
  return summary;
}

}  // namespace tessera::sim
