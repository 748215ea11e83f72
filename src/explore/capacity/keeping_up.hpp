// Whether a service keeps up with the requests that come, or a queue grows as long as they come.
#pragma once

#include "tessera/trace/summary.hpp"

namespace tessera::explore {

enum class Pace {
  kept,       // as many requests end as arrive
  not_shown,  // more and more are there, or many wait, but it may settle with more requests: more
              // end in a second from one part to the next, or no more come to be there
  lost        // more and more are there, and no more end in a second than before
};

// Of what arrives in the middle half of the time of arrivals: by so much more may be there in its
// last quarter than in its second, and so many may wait for their first step in its last quarter,
// all in the mean. (Arrivals that are drawn come faster or slower than their rate for a while, so
// that few of them may leave no growth to see, but a queue.)
inline constexpr double most_growth = 0.01;
// Beside it what chance does: so many square roots of these arrivals, and one request. As many more
// may be there as came in the middle half beyond its share of all arrivals, up to `most_excess`
// square roots.
inline constexpr double chance = 0.5;
inline constexpr double most_excess = 2;

// By the windows of a service whose requests all have ended. The first quarter of the time of
// arrivals, in which the service fills, does not count. A service whose requests came within an
// eighth of the time that all of them took is `not_shown`.
Pace pace_of(const trace::Service& service);

// The time of arrivals [ps], as exact as windows are wide.
double arrival_time_of(const trace::Service& service);

}  // namespace tessera::explore
