#include "statements.hpp"

#include <algorithm>

#include "tessera/core/error.hpp"

namespace tessera::pdes {
namespace {

struct TowardsRecord {
  std::int64_t through_ps;
  std::int64_t sent_ps;
  std::int64_t bound_ps;
};
static_assert(sizeof(TowardsRecord) == payload_bytes);

}  // namespace

Statements::Statements(std::size_t ranks, std::size_t self, const RegionDelays& delays)
    : place_of_(ranks, none) {
  std::vector<std::vector<std::size_t>> neighbours(ranks);
  for (const RegionDelays::Direct& pair : delays.direct) {
    neighbours[pair.from].push_back(pair.to);
    neighbours[pair.to].push_back(pair.from);
  }
  for (std::vector<std::size_t>& of : neighbours) {
    std::ranges::sort(of);
    of.erase(std::unique(of.begin(), of.end()), of.end());
  }
  const auto are_neighbours = [&](std::size_t a, std::size_t b) {
    return std::ranges::binary_search(neighbours[a], b);
  };
  const auto know = [&](std::size_t rank) {
    place_of_[rank] = ranks_.size();
    ranks_.emplace_back().rank = rank;
  };
  know(self);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (rank != self && (ranks <= most_known || are_neighbours(self, rank))) {
      know(rank);
    }
  }
  for (Known& known : ranks_) {
    known.neighbours = std::move(neighbours[known.rank]);
    for (const std::size_t rank : known.neighbours) {
      known.places.push_back(complete() || rank == self || known.rank == self ? place_of_[rank]
                                                                              : none);
    }
    known.said.towards.resize(known.neighbours.size());
  }
  for (Known& known : ranks_) {
    for (const std::size_t place : known.places) {
      known.back.push_back(place == none ? none : neighbour_of(place, known.rank));
    }
  }
  told_.assign(known() * known(), 0);
}

std::size_t Statements::neighbour_of(std::size_t known, std::size_t rank) const {
  const std::vector<std::size_t>& neighbours = ranks_[known].neighbours;
  const auto found = std::ranges::lower_bound(neighbours, rank);
  return found != neighbours.end() && *found == rank
             ? static_cast<std::size_t>(found - neighbours.begin())
             : none;
}

void Statements::append(std::vector<Event>& batch, std::size_t known) const {
  const Known& of = ranks_[known];
  for (const Towards& towards : of.said.towards) {
    Event& record = batch.emplace_back();
    record.time = towards.at;
    record.sequence = towards.posted;
    record.target = towards.received;
    record.set_payload(TowardsRecord{towards.through.ps(), towards.sent.ps(), towards.bound.ps()});
  }
  Event& head = batch.emplace_back();  // at the end, as batches are read from there
  head.time = of.said.wanted;
  head.target = static_cast<std::uint32_t>(of.rank);
  head.set_payload(of.said.version);
}

void Statements::append_to(std::vector<Event>& batch, std::size_t to) {
  Event last;
  for (std::size_t known = 0; known < (complete() ? ranks_.size() : 1); ++known) {
    std::uint64_t& told = told_[to * ranks_.size() + known];
    if (known != to && told != ranks_[known].said.version) {
      append(batch, known);
      told = ranks_[known].said.version;
      ++last.tag;
    }
  }
  batch.push_back(last);
}

std::span<const Event> Statements::take_from(std::span<const Event> batch, std::size_t from) {
  std::size_t end = batch.size() - 1;
  for (std::uint16_t left = batch.back().tag; left > 0; --left) {
    const Event& head = batch[--end];
    const std::size_t place = place_of_[head.target];
    ensure(place != none && place != 0, "a statement of a rank that this one does not know");
    Known& known = ranks_[place];
    end -= known.said.towards.size();
    const auto version = head.as<std::uint64_t>();
    std::uint64_t& told = told_[from * ranks_.size() + place];
    told = std::max(told, version);
    if (version <= known.said.version) {
      continue;
    }
    known.said.version = version;
    known.said.wanted = head.time;
    for (std::size_t i = 0; i < known.said.towards.size(); ++i) {
      const Event& record = batch[end + i];
      const auto more = record.as<TowardsRecord>();
      known.said.towards[i] = {record.time,
                               SimTime::from_ps(more.through_ps),
                               SimTime::from_ps(more.sent_ps),
                               SimTime::from_ps(more.bound_ps),
                               record.sequence,
                               record.target};
    }
  }
  return batch.first(end);
}

SimTime Statements::direct(std::size_t from, std::size_t neighbour) const {
  const Known& sender = ranks_[from];
  const Towards& towards = sender.said.towards[neighbour];
  const std::size_t to = sender.places[neighbour];
  const Towards& there = ranks_[to].said.towards[sender.back[neighbour]];
  return is_before(there.received, towards.posted) ? std::min(towards.at, towards.sent)
                                                   : towards.at;
}

// Dijkstra's algorithm from all own events; a handful of ranks, so that a scan finds the next one.
void Statements::solve() {
  for (Known& known : ranks_) {
    known.input = SimTime::never();
    known.to_self = SimTime::never();
    known.is_final = false;
  }
  for (std::size_t from = 0; from < ranks_.size(); ++from) {
    for (std::size_t i = 0; i < ranks_[from].places.size(); ++i) {
      const std::size_t to = ranks_[from].places[i];
      if (to == none) {  // what the rank itself has found out
        const SimTime bound = ranks_[from].said.towards[i].bound;
        ranks_[from].input = std::min(ranks_[from].input, bound);
        continue;
      }
      const SimTime at = direct(from, i);
      ranks_[to].input = std::min(ranks_[to].input, at);
      if (to == 0) {
        ranks_[from].to_self = at;
      }
    }
  }
  for (std::size_t done = 0; done < ranks_.size(); ++done) {
    Known* earliest = nullptr;
    for (Known& known : ranks_) {
      if (!known.is_final && (earliest == nullptr || known.input < earliest->input)) {
        earliest = &known;
      }
    }
    earliest->is_final = true;
    if (earliest->input.is_never()) {
      return;
    }
    for (std::size_t i = 0; i < earliest->places.size(); ++i) {
      const std::size_t to = earliest->places[i];
      if (to == none) {
        continue;
      }
      const SimTime at = earliest->input + earliest->said.towards[i].through;
      ranks_[to].input = std::min(ranks_[to].input, at);
      if (to == 0) {
        earliest->to_self = std::min(earliest->to_self, at);
      }
    }
  }
}

}  // namespace tessera::pdes
