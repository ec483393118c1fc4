// A plan with addresses: what a backend runs. Made once per plan, since every buffer stays where it is.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace skua {

class BoundPlan {
 public:
  /// `bases[buffer]` is the address of each of the plan's buffers. The plan must outlive this object.
  BoundPlan(const Plan& plan, const std::vector<std::byte*>& bases) {
    size_t n_uses = 0;
    for (const Step& step : plan.steps) n_uses += step.uses.size();
    addresses_.reserve(n_uses);
    for (const Step& step : plan.steps) {
      std::byte* const* first = addresses_.data() + addresses_.size();
      for (const Use& use : step.uses) addresses_.push_back(bases[use.buffer.value()] + use.begin);
      steps_.push_back({step.fn, step.args.get(), first});
    }
    for (uint32_t i = 0; i < plan.steps.size(); ++i) order_.push_back(i);
    output_ = bases[plan.output.buffer.value()] + plan.output.begin;
  }
  BoundPlan(const BoundPlan&) = delete;
  BoundPlan& operator=(const BoundPlan&) = delete;

  std::span<const BoundStep> steps() const { return steps_; }
  std::span<const uint32_t> order() const { return order_; }
  /// Runs the steps in another order that respects the plan's edges (tests).
  void set_order(std::vector<uint32_t> order) { order_ = std::move(order); }
  const std::byte* output() const { return output_; }

 private:
  std::vector<std::byte*> addresses_;
  std::vector<BoundStep> steps_;
  std::vector<uint32_t> order_;
  const std::byte* output_ = nullptr;
};

}  // namespace skua
