#include <algorithm>
#include <map>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/executor/serving/serving.hpp"

namespace tessera::executor {

std::uint64_t ServingWork::requests() const {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < tenants.size(); ++i) {
    const bool counts = tenants[i].lead == i && !tenants[i].background;
    sum += counts ? tenants[i].requests->count().value_or(0) : 0;
  }
  return sum;
}

std::uint16_t ServingWork::name_of(const serving::OperatorName& name) const {
  const std::uint32_t place =
      first_name[name.tenant] + tenants[name.tenant].model->name_of(name.op);
  return static_cast<std::uint16_t>(std::min<std::size_t>(place, names.size() - 1));
}

const collective::Algorithm& ServingWork::algorithm_of(const serving::Exchange& exchange) const {
  ensure(exchange.collective.has_value(), "what is handed on is no collective");
  return *exchange.collective == collective::Kind::all_to_all ? *all_to_all : *all_reduce;
}

namespace {

class TenantOperators final : public npu::OperatorSource {
 public:
  explicit TenantOperators(const ServingWork& work) : work_(work), end_(work.first_address) {
    for (const ServiceSettings& tenant : work_.tenants) {
      begins_.push_back(end_);
      end_ += tenant.model->memory_end();
    }
  }

  std::uint64_t kind_of(std::uint64_t number) const override {
    serving::OperatorName name = serving::OperatorName::from(number);
    name.op = work_.tenants[name.tenant].model->kind_of(name.op);
    return name.code();
  }
  std::shared_ptr<const npu::TiledOperator> make(std::uint64_t kind,
                                                 std::uint64_t cores) const override {
    if (made_.size() >= most_kept) {
      made_.clear();
    }
    std::shared_ptr<const npu::TiledOperator>& made = made_[{kind, cores}];
    if (!made) {
      const serving::OperatorName name = serving::OperatorName::from(kind);
      made = work_.tenants[name.tenant].model->make(name.op, name.shape, cores);
    }
    return made;
  }
  std::uint64_t operand_begin(std::uint64_t number, std::uint8_t operand) const override {
    const serving::OperatorName name = serving::OperatorName::from(number);
    return begins_[name.tenant] + work_.tenants[name.tenant].model->operand_begin(name.op, operand);
  }
  std::uint64_t memory_end() const override { return end_; }
  std::string name_of(std::uint64_t number) const override {
    return work_.names[work_.name_of(serving::OperatorName::from(number))];
  }

 private:
  static constexpr std::size_t most_kept = 100'000;

  const ServingWork& work_;
  std::vector<std::uint64_t> begins_;  // [tenants]
  std::uint64_t end_;
  mutable std::map<std::pair<std::uint64_t, std::uint64_t>,
                   std::shared_ptr<const npu::TiledOperator>>
      made_;
};

}  // namespace

std::uint64_t bytes_of_operands(const ServingWork& work) {
  std::uint64_t sum = 0;
  for (const ServiceSettings& tenant : work.tenants) {
    sum += tenant.model->memory_end();
  }
  return sum;
}

std::shared_ptr<npu::OperatorSource> make_operator_source(const ServingWork& work) {
  return std::make_shared<TenantOperators>(work);
}

}  // namespace tessera::executor
