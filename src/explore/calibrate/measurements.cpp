#include "calibrate/measurements.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "tessera/core/data_type.hpp"
#include "tessera/core/quotient.hpp"
#include "tessera/core/text.hpp"

namespace tessera::explore {
namespace {

using config::Place;

constexpr double most_terms = 1e18;  // of sums of products

// A field of a line, without blanks around it, and where it begins.
struct Field {
  std::string text;
  int column = 1;
};

std::vector<Field> fields_of(const std::string& line) {
  std::vector<Field> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    std::size_t first = begin;
    std::size_t last = end;
    const auto is_blank = [](char letter) {
      return letter == ' ' || letter == '\t' || letter == '\r';
    };
    while (first < last && is_blank(line[first])) {
      ++first;
    }
    while (last > first && is_blank(line[last - 1])) {
      --last;
    }
    fields.push_back({line.substr(first, last - first), static_cast<int>(first) + 1});
    begin = end + 1;
  }
  return fields;
}

const std::map<std::string, workload::Kernel>& kernels() {
  static const std::map<std::string, workload::Kernel> names{
      {"activation", workload::Kernel::activation},
      {"lookup", workload::Kernel::lookup},
      {"norm", workload::Kernel::norm},
      {"rotary", workload::Kernel::rotary},
      {"sum", workload::Kernel::sum},
      {"vector", workload::Kernel::plain}};
  return names;
}

class Reader {
 public:
  Reader(std::string path, config::Diagnostics& diagnostics)
      : path_(std::move(path)), diagnostics_(diagnostics) {}

  std::vector<Measurement> read(const std::string& text) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    for (std::size_t begin = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
         begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      ++line_;
      const std::string line = text.substr(begin, end - begin);
      begin = end + 1;
      const std::vector<Field> fields = fields_of(line);
      if ((fields.size() == 1 && fields[0].text.empty()) || fields[0].text.starts_with('#')) {
        continue;
      }
      if (columns_.empty()) {
        if (!read_head(fields)) {
          return {};
        }
      } else {
        read_row(fields);
      }
    }
    if (columns_.empty()) {
      diagnostics_.error({path_, 1, 1}, "no measurements: the first line names the columns");
    } else if (found_.empty() && diagnostics_.empty()) {
      diagnostics_.error({path_, line_, 1}, "no measurements after the names of the columns");
    }
    return std::move(found_);
  }

 private:
  using What = Measurement::What;

  bool read_head(const std::vector<Field>& fields) {
    static const std::array<std::vector<std::string>, 3> needed{
        {{"operator", "shape", "time"},
         {"collective", "size", "ranks", "time"},
         {"experiment", "time"}}};
    for (std::size_t i = 0; i < fields.size(); ++i) {
      columns_.emplace(fields[i].text, i);
    }
    std::size_t what = 0;
    while (what < needed.size() && !columns_.contains(needed[what].front())) {
      ++what;
    }
    if (what == needed.size()) {
      error(fields[0], "no column 'operator', 'collective' or 'experiment' in the first line");
      return false;
    }
    what_ = static_cast<What>(what);
    std::vector<std::string> known = needed[what];
    known.emplace_back("note");
    if (what_ == What::operation) {
      known.emplace_back("type");
    }
    bool good = columns_.size() == fields.size();
    if (!good) {
      error(fields[0], "a column is named twice");
    }
    for (const Field& field : fields) {
      if (std::find(known.begin(), known.end(), field.text) == known.end()) {
        error(field, unknown_name("column", field.text, known));
        good = false;
      }
    }
    for (const std::string& name : needed[what]) {
      if (!columns_.contains(name)) {
        error(fields[0], "no column '" + name + "' beside '" + needed[what].front() + "'");
        good = false;
      }
    }
    return good;
  }

  void read_row(const std::vector<Field>& fields) {
    if (fields.size() != columns_.size()) {
      error(fields.back(), std::to_string(fields.size()) + " fields where the first line has " +
                               std::to_string(columns_.size()));
      return;
    }
    row_ = &fields;
    const std::size_t complaints = diagnostics_.list().size();
    Measurement measured;
    measured.what = what_;
    measured.place = {path_, line_, 1};
    switch (what_) {
      case What::operation:
        read_operation(measured);
        break;
      case What::collective:
        read_collective(measured);
        break;
      case What::iteration:
        measured.title = field("experiment").text;
        measured.experiment = config::path_beside(measured.place, measured.title);
        break;
    }
    measured.time = value<SimTime>("time");
    if (diagnostics_.list().size() == complaints && measured.time <= SimTime::zero()) {
      error(field("time"), "a measured time is above 0");
    }
    if (diagnostics_.list().size() == complaints) {
      found_.push_back(std::move(measured));
    }
  }

  void read_operation(Measurement& measured) {
    const Field& name = field("operator");
    const Field& shape = field("shape");
    measured.title = name.text + " " + shape.text;
    workload::Operation& operation = measured.operation;
    operation.data_type = read_type();
    if (name.text == "product") {
      read_product(shape, operation);
      return;
    }
    if (name.text == "attention" || name.text == "causal-attention") {
      read_attention(shape, name.text != "attention", operation);
      return;
    }
    const auto kernel = kernels().find(name.text);
    if (kernel == kernels().end()) {
      std::vector<std::string> names{"product", "attention", "causal-attention"};
      for (const auto& [each, of] : kernels()) {
        names.push_back(each);
      }
      error(name, unknown_name("operator", name.text, names));
      return;
    }
    operation.kernel = kernel->second;
    operation.bytes = value<Bytes>("shape");
  }

  DataType read_type() {
    if (!columns_.contains("type") || field("type").text.empty()) {
      return DataType::fp16;
    }
    const std::optional<DataType> type = data_type_from(field("type").text);
    if (!type) {
      error(field("type"), unknown_name("type", field("type").text, data_type_names()));
    }
    return type.value_or(DataType::fp16);
  }

  // Numbers with x between them; none where one is none from 1 to 2^20.
  static std::vector<std::uint64_t> sides_of(const Field& shape) {
    std::vector<std::uint64_t> sides;
    std::string problem;
    for (std::size_t begin = 0; begin <= shape.text.size();) {
      const std::size_t end = std::min(shape.text.find('x', begin), shape.text.size());
      const auto side =
          config::parse_as<std::int64_t>(shape.text.substr(begin, end - begin), problem);
      constexpr std::int64_t most = std::int64_t{1} << 20;
      if (!side || *side < 1 || *side > most) {
        return {};
      }
      sides.push_back(static_cast<std::uint64_t>(*side));
      begin = end + 1;
    }
    return sides;
  }

  // ROWSxDEPTHxCOLUMNS, and how many of them.
  void read_product(const Field& shape, workload::Operation& operation) {
    std::vector<std::uint64_t> sides = sides_of(shape);
    if (sides.size() == 3) {
      sides.push_back(1);
    }
    if (sides.size() != 4) {
      error(shape, "'" + shape.text +
                       "' is no product: ROWSxDEPTHxCOLUMNS, and xCOUNT for several, of 1 to 2^20");
      return;
    }
    operation.product = {sides[0], sides[2], sides[1], sides[3]};
    operation.flops = operation.product.flops();
    operation.bytes =
        element_size(operation.data_type) *
        ((sides[0] * sides[1] + sides[1] * sides[2] + sides[0] * sides[2]) * sides[3]);
  }

  // QUERIESxKEYSxWIDTHxHEADS: a forward pass of one fused kernel, heads of all sequences, each with
  // keys and values of its own; with a causal mask half of the pairs. As plans have it
  // (workload/operators.cpp).
  void read_attention(const Field& shape, bool causal, workload::Operation& operation) {
    const std::vector<std::uint64_t> sides = sides_of(shape);
    if (sides.size() != 4) {
      error(shape, "'" + shape.text + "' is no attention: QUERIESxKEYSxWIDTHxHEADS, of 1 to 2^20");
      return;
    }
    const auto [queries, keys, width, heads] = std::tie(sides[0], sides[1], sides[2], sides[3]);
    if (static_cast<double>(queries) * static_cast<double>(keys) * static_cast<double>(width) *
            static_cast<double>(heads) >
        most_terms) {
      error(shape, "'" + shape.text + "' is too large");
      return;
    }
    const std::uint64_t twice_pairs = (causal ? 1 : 2) * queries * keys;
    operation.kernel = workload::Kernel::fused_attention;
    operation.product = {queries, width, quotient_up(twice_pairs, queries), heads};
    operation.twice_keys = operation.product.depth;
    operation.flops = Flops(2 * width * heads * twice_pairs);
    operation.bytes = element_size(operation.data_type) * (2 * (queries + keys) * width * heads);
  }

  void read_collective(Measurement& measured) {
    const Field& name = field("collective");
    const auto kind = collective::kind_named(name.text);
    if (!kind) {
      error(name, unknown_name("collective", name.text, collective::kind_names()));
    }
    measured.collective = kind.value_or(collective::Kind::all_reduce);
    measured.size = value<Bytes>("size");
    std::string problem;
    const auto ranks = config::parse_as<std::int64_t>(field("ranks").text, problem);
    constexpr std::int64_t most = 1 << 24;
    if (!ranks || *ranks < 2 || *ranks > most) {
      error(field("ranks"), "'" + field("ranks").text + "' is no number of ranks from 2 on");
    }
    measured.ranks = static_cast<std::uint32_t>(ranks.value_or(2));
    measured.title = name.text + " " + field("size").text + " over " + field("ranks").text;
  }

  const Field& field(const std::string& name) const { return (*row_)[columns_.at(name)]; }

  template <class T>
  T value(const std::string& name) {
    std::string problem;
    const std::optional<T> found = config::parse_as<T>(field(name).text, problem);
    if (!found) {
      error(field(name), problem);
    }
    return found.value_or(T{});
  }

  void error(const Field& at, const std::string& message) {
    diagnostics_.error({path_, line_, at.column}, message);
  }

  std::string path_;
  config::Diagnostics& diagnostics_;
  int line_ = 0;
  What what_ = What::operation;
  std::map<std::string, std::size_t> columns_;
  const std::vector<Field>* row_ = nullptr;
  std::vector<Measurement> found_;
};

}  // namespace

std::vector<Measurement> read_measurements(const std::string& path, const std::string& text,
                                           config::Diagnostics& diagnostics) {
  return Reader(path, diagnostics).read(text);
}

}  // namespace tessera::explore
