#include "tessera/serving/request_class.hpp"

#include <algorithm>
#include <utility>

#include "requests/shape.hpp"

namespace tessera::serving {
namespace {

class Marked final : public RequestSource {
 public:
  Marked(std::unique_ptr<RequestSource> requests, const std::vector<RequestClass>& classes,
         const AdapterDraw& adapters, std::uint64_t seed)
      : requests_(std::move(requests)), adapters_(adapters), seed_(seed) {
    double sum = 0;
    for (const RequestClass& one : classes) {
      sum += one.share;
      ends_.push_back(sum);
    }
  }

  std::optional<std::uint64_t> count() const override { return requests_->count(); }
  Request request(std::uint64_t number) const override {
    return marked(requests_->request(number), number);
  }
  Request untimed(std::uint64_t number) const override {
    return marked(requests_->untimed(number), number);
  }
  std::unique_ptr<ArrivalTimes> times_from(std::uint64_t number) const override {
    return requests_->times_from(number);
  }
  SimTime last_arrival() const override { return requests_->last_arrival(); }
  std::uint32_t clients() const override { return requests_->clients(); }
  SimTime think(std::uint64_t number) const override { return requests_->think(number); }
  std::span<const std::uint32_t> pieces(std::uint64_t number) const override {
    return requests_->pieces(number);
  }
  std::uint32_t piece_tokens() const override { return requests_->piece_tokens(); }
  bool shares_beginnings() const override { return requests_->shares_beginnings(); }
  std::uint32_t class_of(std::uint64_t number) const override {
    const std::uint32_t said = requests_->class_of(number);
    return said == 0 && !ends_.empty() ? drawn(number) : said;
  }
  Request largest() const override { return requests_->largest(); }
  std::vector<std::uint32_t> samples() const override { return requests_->samples(); }
  std::size_t resident_bytes() const override { return requests_->resident_bytes(); }
  // Of one class all requests are, drawn or not.
  bool is_drawn() const override {
    return ends_.size() > 1 || adapters_.count > 0 || requests_->is_drawn();
  }
  std::vector<std::string> notes() const override { return requests_->notes(); }

 private:
  Request marked(Request request, std::uint64_t number) const {
    if (request.of_class == 0 && !ends_.empty()) {
      request.of_class = drawn(number);
    }
    if (request.adapter == 0 && adapters_.count > 0) {
      request.adapter = drawn_adapter(number);
    }
    return request;
  }

  std::uint32_t drawn(std::uint64_t number) const {
    const double at = random_of(seed_, number, Draw::of_class).next_uniform() * ends_.back();
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), at);
    const auto place = std::min<std::ptrdiff_t>(end - ends_.begin(),
                                                static_cast<std::ptrdiff_t>(ends_.size()) - 1);
    return static_cast<std::uint32_t>(place) + 1;
  }

  std::uint32_t drawn_adapter(std::uint64_t number) const {
    RandomStream random = random_of(seed_, number, Draw::adapter);
    return random.next_uniform() < adapters_.share
               ? 1 + static_cast<std::uint32_t>(random.next_below(adapters_.count))
               : 0;
  }

  std::unique_ptr<RequestSource> requests_;
  std::vector<double> ends_;  // [classes] of their shares, added up
  AdapterDraw adapters_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<RequestSource> with_marks(std::unique_ptr<RequestSource> requests,
                                          const std::vector<RequestClass>& classes,
                                          const AdapterDraw& adapters, std::uint64_t seed) {
  return std::make_unique<Marked>(std::move(requests), classes, adapters, seed);
}

std::uint32_t class_number(std::span<const std::string> classes, const std::string& name) {
  const auto found = std::find(classes.begin(), classes.end(), name);
  return found == classes.end() ? 0 : static_cast<std::uint32_t>(found - classes.begin()) + 1;
}

}  // namespace tessera::serving
