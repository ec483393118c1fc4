// The edges of a plan carry its whole meaning: any order that respects them gives the same bytes, and an edge
// that is left out is either noticed by verify() or was implied by others. Every run starts with an arena
// full of NaN.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "backend/cpu/cpu_backend.h"
#include "backend/read_floats.h"
#include "backend/ref/ref_backend.h"
#include "engine/hand_runner.h"

namespace skua::test {
namespace {

constexpr int32_t kTokens = 70;
constexpr int kOrders = 60;
constexpr size_t kImpliedSample = 5;

/// One plan with buffers of its own: two sequences, 70 tokens, all rows. Runs any order from a fresh state.
class PlanRun {
 public:
  PlanRun(const FamilyModel& model, std::unique_ptr<Backend> backend, Fusion fusion)
      : backend_(std::move(backend)),
        model_(must(load_model(*make_checkpoint(model), *backend_, ConfigPolicy::kStrict, nullptr))),
        layout_(make_cache_layout(model_.graph)) {
    LowerRequest request;
    request.graph = &model_.graph;
    request.backend = backend_.get();
    request.weights = model_.weights;
    request.capacity = {kTokens, 2, kTokens, 2};
    request.fusion = fusion;
    request.cache_group = layout_.slot_group;
    for (const CacheSlot& slot : model_.graph.slots)
      request.slab_bytes.push_back(4 * backend_->cache_page_bytes(slot));
    plan_ = must(lower(request));
    bind();
  }

  const Plan& plan() const { return plan_; }

  /// Logits after running the steps in `order` on NaN-filled arena and caches.
  std::vector<double> run(std::span<const uint32_t> order) {
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const BufferKind kind = plan_.buffers[i].kind;
      if (kind == BufferKind::kArena || kind == BufferKind::kCache) {
        std::memset(bases_[i], 0xFF, plan_.buffers[i].bytes);
      }
    }
    SKUA_CHECK(backend_->run(bound_->steps(), order).ok());
    const DType storage = plan_.graph.value(plan_.graph.output).type.storage;
    return must(
        read_floats(*backend_, bound_->output(), storage, static_cast<size_t>(kTokens * plan_.n_vocab)));
  }

  std::vector<double> run_in_program_order() { return run(bound_->order()); }

 private:
  void bind() {
    for (const BufferInfo& buffer : plan_.buffers) {
      if (buffer.kind == BufferKind::kWeight) {
        bases_.push_back(model_.weights[buffer.index].buffer->data());
        continue;
      }
      owned_.push_back(must(backend_->allocate(buffer.bytes, buffer.name)));
      bases_.push_back(owned_.back()->data());
      if (buffer.kind == BufferKind::kInput) fill_input(buffer, bases_.back());
    }
    bound_ = std::make_unique<BoundPlan>(plan_, bases_);
  }

  /// Sequences of 45 and 25 tokens; pages 0 and 1 of the first, 2 and 3 of the second.
  void fill_input(const BufferInfo& buffer, std::byte* to) const {
    constexpr int32_t kFirst = 45;
    std::vector<int32_t> values;
    const auto input =
        static_cast<StepInput>(std::min(buffer.index, static_cast<uint32_t>(StepInput::kPageTable)));
    switch (input) {
      case StepInput::kHeader:
        values = {kTokens, 2, kTokens, 0};
        break;
      case StepInput::kSeqs:
        values = {0, kFirst, kFirst, 0, kFirst, kTokens - kFirst, kTokens - kFirst, 0};
        break;
      case StepInput::kPageTable:
        values = {0, 1, 2, 3};
        break;
      case StepInput::kIds:
        values = random_ids(3, kTokens, static_cast<int32_t>(model_.info.n_vocab));
        break;
      default:
        for (int32_t t = 0; t < kTokens; ++t) {
          const int32_t seq = t < kFirst ? 0 : 1;
          values.push_back(input == StepInput::kTokenSeq ? seq
                           : input == StepInput::kRows   ? t
                                                         : t - seq * kFirst);
        }
    }
    SKUA_CHECK_EQ(values.size() * sizeof(int32_t), buffer.bytes);
    std::memcpy(to, values.data(), buffer.bytes);
  }

  std::unique_ptr<Backend> backend_;
  LoadedModel model_;
  CacheLayout layout_;
  Plan plan_;
  std::vector<std::shared_ptr<DeviceBuffer>> owned_;
  std::vector<std::byte*> bases_;
  std::unique_ptr<BoundPlan> bound_;
};

bool same_bytes(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

/// A legal order of `edges` that runs step `late` as late and step `early` as early as they allow.
std::vector<uint32_t> tempting_order(size_t n_steps, const std::vector<Edge>& edges, uint32_t late,
                                     uint32_t early) {
  std::vector<std::vector<uint32_t>> before(n_steps);
  for (const auto& [first, second] : edges) before[second].push_back(first);
  std::vector<uint32_t> order;
  std::vector<char> done(n_steps, 0);
  const auto add = [&](auto&& self, uint32_t step) -> void {
    if (done[step] != 0) return;
    done[step] = 1;
    for (uint32_t needed : before[step]) self(self, needed);
    order.push_back(step);
  };
  add(add, early);
  for (uint32_t step = 0; step < n_steps; ++step) {
    if (step != late) add(add, step);
  }
  add(add, late);
  return order;
}

/// Backends with workspaces in the arena leave less freedom than those without, so both kinds are tried.
std::unique_ptr<Backend> make_backend(const std::string& name) {
  if (name == "ref") return make_ref_backend({RefRounding::kRounded, {}, 1});
  return must(make_cpu_backend({.n_threads = 1}));
}

/// True if each step must wait for the one before it.
bool is_chain(const Plan& plan) {
  const std::set<Edge> edges(plan.edges.begin(), plan.edges.end());
  for (uint32_t step = 1; step < plan.steps.size(); ++step) {
    if (!edges.contains({step - 1, step})) return false;
  }
  return true;
}

using Param = std::tuple<FamilyModel, std::string>;

class PlanOrders : public testing::TestWithParam<Param> {
 protected:
  std::unique_ptr<PlanRun> lowered(Fusion fusion) const {
    return std::make_unique<PlanRun>(std::get<0>(GetParam()), make_backend(std::get<1>(GetParam())), fusion);
  }
  std::string name(Fusion fusion) const {
    return std::get<0>(GetParam()).name + " on " + std::get<1>(GetParam()) +
           (fusion == Fusion::kOn ? ", fused" : ", unfused");
  }
};

TEST_P(PlanOrders, EveryLegalOrderGivesTheSameBytes) {
  size_t most = 0;  // a plan whose steps all share a place in the arena has one order only
  for (Fusion fusion : {Fusion::kOn, Fusion::kOff}) {
    const std::unique_ptr<PlanRun> plan_run = lowered(fusion);
    PlanRun& run = *plan_run;
    const std::vector<double> expected = run.run_in_program_order();
    for (double logit : expected) ASSERT_TRUE(std::isfinite(logit));
    std::set<std::vector<uint32_t>> orders;
    for (uint64_t seed = 1; seed <= kOrders; ++seed) {
      const std::vector<uint32_t> order = random_order(run.plan().steps.size(), run.plan().edges, seed);
      orders.insert(order);
      ASSERT_TRUE(same_bytes(run.run(order), expected)) << name(fusion) << ", order of seed " << seed;
    }
    std::printf("  %s: %zu steps, %zu distinct legal orders ran\n", name(fusion).c_str(),
                run.plan().steps.size(), orders.size());
    most = std::max(most, orders.size());
  }
  // Of layers that are one block each, every step may need the one before it.
  EXPECT_TRUE(most > 1 ||
              (is_chain(lowered(Fusion::kOn)->plan()) && is_chain(lowered(Fusion::kOff)->plan())));
}

TEST_P(PlanOrders, FusedAndUnfusedPlansGiveTheSameBytes) {
  const auto fused = lowered(Fusion::kOn);
  const auto unfused = lowered(Fusion::kOff);
  EXPECT_LT(fused->plan().steps.size(), unfused->plan().steps.size());
  EXPECT_TRUE(same_bytes(fused->run_in_program_order(), unfused->run_in_program_order()));
}

TEST_P(PlanOrders, ADroppedEdgeIsCaughtOrWasImplied) {
  for (Fusion fusion : {Fusion::kOn, Fusion::kOff}) {
    const std::unique_ptr<PlanRun> plan_run = lowered(fusion);
    PlanRun& run = *plan_run;
    const Plan& plan = run.plan();
    const std::vector<double> expected = run.run_in_program_order();
    ASSERT_TRUE(verify(plan.steps, plan.edges).ok());
    int n_caught = 0, n_changed = 0;
    for (size_t drop = 0; drop < plan.edges.size(); ++drop) {
      std::vector<Edge> edges = plan.edges;
      edges.erase(edges.begin() + static_cast<std::ptrdiff_t>(drop));
      const bool caught = !verify(plan.steps, edges).ok();
      if (!caught && drop % kImpliedSample != 0) continue;  // there are many of these
      const std::vector<uint32_t> order =
          tempting_order(plan.steps.size(), edges, plan.edges[drop].first, plan.edges[drop].second);
      const bool changed = !same_bytes(run.run(order), expected);
      n_caught += caught ? 1 : 0;
      n_changed += changed ? 1 : 0;
      EXPECT_FALSE(changed && !caught)
          << "verify misses the edge " << plan.edges[drop].first << " -> " << plan.edges[drop].second;
    }
    std::printf("  %s: %zu edges; dropping one is caught by verify for %d, and changed bytes for %d\n",
                name(fusion).c_str(), plan.edges.size(), n_caught, n_changed);
    EXPECT_GT(n_caught, 0);
    EXPECT_GT(n_changed, n_caught / 2) << "orders that break an edge should show in the bytes";
  }
}

INSTANTIATE_TEST_SUITE_P(All, PlanOrders,
                         testing::Combine(testing::ValuesIn(sample_family_models()),
                                          testing::Values("cpu", "ref")),
                         [](const testing::TestParamInfo<Param>& param) {
                           return std::get<0>(param.param).name + "_" + std::get<1>(param.param);
                         });

}  // namespace
}  // namespace skua::test
