#include "capacity/keeping_up.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::explore {
namespace {

constexpr std::size_t parts = 4;            // of the time of arrivals
constexpr std::size_t least_windows = 8;    // of the most, in which requests arrive
constexpr double more_end = 1.05;           // of those of an earlier part, which are more
constexpr std::uint64_t telling_ends = 64;  // so many, at least, tell a rate at which requests end

struct WindowRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
};

// Windows from the first request to the last.
WindowRange arrivals_of(const trace::Service& service) {
  const auto arrives = [](const trace::ServiceWindow& window) { return window.arrived > 0; };
  const auto& windows = service.windows;
  const auto first = std::find_if(windows.begin(), windows.end(), arrives);
  const auto last = std::find_if(windows.rbegin(), windows.rend(), arrives).base();
  return first == windows.end() ? WindowRange()
                                : WindowRange{static_cast<std::size_t>(first - windows.begin()),
                                              static_cast<std::size_t>(last - windows.begin())};
}

// Requests that are there at the end of each window.
std::vector<double> there_at_ends(const std::vector<trace::ServiceWindow>& windows) {
  std::vector<double> there;
  double now = 0;
  for (const trace::ServiceWindow& window : windows) {
    now += static_cast<double>(window.arrived) - static_cast<double>(window.served);
    there.push_back(now);
  }
  return there;
}

double mean_over(const std::vector<double>& values, const WindowRange& span) {
  double sum = 0;
  for (std::size_t i = span.begin; i < span.end; ++i) {
    sum += values[i];
  }
  return sum / static_cast<double>(span.size());
}

double mean_waiting(const std::vector<trace::ServiceWindow>& windows, const WindowRange& span) {
  double sum = 0;
  for (std::size_t i = span.begin; i < span.end; ++i) {
    sum += windows[i].waiting;
  }
  return sum / static_cast<double>(span.size());
}

template <class Count>
std::uint64_t sum_over(const std::vector<trace::ServiceWindow>& windows, const WindowRange& span,
                       Count trace::ServiceWindow::*count) {
  std::uint64_t sum = 0;
  for (std::size_t i = span.begin; i < span.end; ++i) {
    sum += windows[i].*count;
  }
  return sum;
}

// That came in part of the time of arrivals beyond their share.
double excess_in(const std::vector<trace::ServiceWindow>& windows, const WindowRange& part,
                 const WindowRange& all) {
  const auto came = [&](const WindowRange& span) {
    return static_cast<double>(sum_over(windows, span, &trace::ServiceWindow::arrived));
  };
  const double share = static_cast<double>(part.size()) / static_cast<double>(all.size());
  return std::clamp(came(part) - share * came(all), 0.0, most_excess * std::sqrt(came(part)));
}

}  // namespace

Pace pace_of(const trace::Service& service) {
  const std::vector<trace::ServiceWindow>& windows = service.windows;
  WindowRange arrivals = arrivals_of(service);
  if (arrivals.size() < least_windows) {
    return service.served < 2 ? Pace::kept : Pace::not_shown;
  }
  --arrivals.end;  // the last request comes within it
  const std::size_t part = arrivals.size() / parts;
  const WindowRange early{arrivals.begin + part, arrivals.begin + 2 * part};
  const WindowRange late{arrivals.end - part, arrivals.end};
  const std::vector<double> there = there_at_ends(windows);
  const double grown = mean_over(there, late) - mean_over(there, early);
  const WindowRange middle{early.begin, late.begin};
  const auto arrived =
      static_cast<double>(sum_over(windows, middle, &trace::ServiceWindow::arrived));
  const double most = most_growth * arrived + chance * std::sqrt(arrived) + 1;
  const double most_grown = most + excess_in(windows, middle, arrivals);
  if (grown <= most_grown && mean_waiting(windows, late) <= most) {
    return Pace::kept;
  }
  const std::uint64_t before = sum_over(windows, early, &trace::ServiceWindow::served);
  const std::uint64_t then = sum_over(windows, late, &trace::ServiceWindow::served);
  const bool settled = grown > most_grown && before >= telling_ends &&
                       static_cast<double>(then) < more_end * static_cast<double>(before);
  return settled ? Pace::lost : Pace::not_shown;
}

double arrival_time_of(const trace::Service& service) {
  return static_cast<double>(arrivals_of(service).size()) * static_cast<double>(service.window_ps);
}

}  // namespace tessera::explore
