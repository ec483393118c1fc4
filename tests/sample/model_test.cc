// Every sampler against the plain model on random cases. A draw is a function of u(seed, position): the
// chosen token's stretch of the cumulative probability must hold u.
#include <gtest/gtest.h>

#include <random>

#include "plain_model.h"
#include "sample/random.h"
#include "sample/sampler.h"

namespace skua {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }
  float uniform_f(double low, double high) { return static_cast<float>(uniform(low, high)); }
  int32_t below(size_t n) { return static_cast<int32_t>(engine_() % n); }
  bool one_in(size_t n) { return below(n) == 0; }
  std::vector<int32_t> ids(size_t n, size_t n_vocab) {
    std::vector<int32_t> out(n);
    for (int32_t& id : out) id = below(n_vocab);
    return out;
  }

 private:
  std::mt19937_64 engine_;
};

/// Whether u lies in the stretch of `id` when the items are laid end to end, `slack` to both sides.
bool holds(const plain::Items& items, int32_t id, double u, double slack) {
  plain::Real begin = 0;
  for (const plain::Item& item : items) {
    if (item.id == id) return u >= begin - slack && u <= begin + item.p + slack;
    begin += item.p;
  }
  return false;
}

SamplingParams neutral() {
  SamplingParams p;
  p.temperature = 1;
  p.top_k = 0;
  p.top_p = 1;
  p.min_p = 0;
  return p;
}

plain::Case random_case(Random& random) {
  plain::Case c;
  // Around the sizes of the blocks that the implementation scans and sums.
  static constexpr size_t kSizes[] = {2, 5, 31, 33, 64, 100, 256, 300, 1000, 5000};
  const size_t n = kSizes[random.below(random.one_in(8) ? 10 : 7)];
  const double spread = random.uniform(1, 10);
  for (size_t i = 0; i < n; ++i) c.logits.push_back(random.uniform_f(-spread, spread));
  if (random.one_in(4)) c.logits[1] = c.logits[0];
  if (random.one_in(4)) c.logits[0] = -static_cast<float>(kInf);
  const size_t n_common = random.one_in(2) ? 4 : n;  // few different tokens make long repeats
  c.prompt = random.ids(static_cast<size_t>(random.below(30)), n_common);
  c.generated = random.ids(static_cast<size_t>(random.below(30)), n_common);
  c.params = neutral();
  c.params.seed = static_cast<uint64_t>(random.below(1u << 30));
  return c;
}

/// Draws at a few positions and compares each with the model.
void expect_follows(plain::Case c, const char* what, int round) {
  auto sampler = Sampler::make(c.params, static_cast<int32_t>(c.logits.size()));
  ASSERT_TRUE(sampler.ok()) << sampler.status().message();
  c.mu = 2 * static_cast<double>(c.params.mirostat_tau);
  // Which of two equal tokens is the more typical is nobody's business.
  if (c.params.typical_p < 1 && c.logits[1] == c.logits[0]) c.logits[1] += 0.5f;
  std::vector<uint32_t> mask;
  if (!c.banned.empty()) mask.assign((c.logits.size() + 31) / 32, ~uint32_t{0});
  for (int32_t id : c.banned) mask[static_cast<size_t>(id / 32)] &= ~(uint32_t{1} << (id % 32));
  for (uint64_t position = 0; position < 6; ++position) {
    c.xtc_strikes = uniform_draw(c.params.seed, position, 2) < static_cast<double>(c.params.xtc_probability);
    const plain::Items want = plain::distribution(c);
    plain::Items by_id = want;
    std::sort(by_id.begin(), by_id.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    const auto token = sampler->sample(c.logits, c.prompt, c.generated, position, mask);
    ASSERT_TRUE(token.ok()) << what << ": " << token.status().message();
    const double u = uniform_draw(c.params.seed, position, 0);
    // Penalised logits are rounded to float32: 1e-6 of probability.
    ASSERT_TRUE(holds(want, token->id, u, 2e-6) || holds(by_id, token->id, u, 2e-6))
        << what << ", round " << round << ", position " << position << ": id " << token->id << " of "
        << want.size();
    if (c.params.mirostat == Mirostat::kOff) continue;
    const auto chosen =
        std::find_if(want.begin(), want.end(), [&](const auto& item) { return item.id == token->id; });
    c.mu -= static_cast<double>(c.params.mirostat_eta) *
            (-std::log2(static_cast<double>(chosen->p)) - static_cast<double>(c.params.mirostat_tau));
    ASSERT_NEAR(sampler->state().mu, c.mu, 1e-5 * (1 + std::abs(c.mu))) << what << ", round " << round;
    c.mu = sampler->state().mu;
  }
}

/// Sets the parameters of one sampler.
struct Setting {
  const char* name;
  void (*set)(plain::Case&, Random&);
};

const Setting kSettings[] = {
    {"nothing", [](plain::Case&, Random&) {}},
    {"temperature",
     [](plain::Case& c, Random& r) { c.params.temperature = r.one_in(4) ? 0 : r.uniform_f(0.1, 3); }},
    {"dynamic temperature",
     [](plain::Case& c, Random& r) {
       c.params.temperature = r.uniform_f(0.2, 2);
       c.params.dynatemp_range = r.uniform_f(0.1, 1.5);
       c.params.dynatemp_exponent = r.uniform_f(0.3, 2);
     }},
    {"top-k", [](plain::Case& c, Random& r) { c.params.top_k = r.below(70); }},
    {"top-p", [](plain::Case& c, Random& r) { c.params.top_p = r.uniform_f(0, 1); }},
    {"min-p", [](plain::Case& c, Random& r) { c.params.min_p = r.uniform_f(0, 0.5); }},
    {"typical-p", [](plain::Case& c, Random& r) { c.params.typical_p = r.uniform_f(0.05, 1); }},
    {"top-n-sigma", [](plain::Case& c, Random& r) { c.params.top_n_sigma = r.uniform_f(0.1, 3); }},
    {"XTC",
     [](plain::Case& c, Random& r) {
       c.params.xtc_probability = r.uniform_f(0.3, 1);
       c.params.xtc_threshold = r.uniform_f(0, 0.3);
     }},
    {"repetition penalty",
     [](plain::Case& c, Random& r) {
       c.params.repetition_penalty = r.uniform_f(0.5, 2);
       c.params.repeat_last_n = r.below(40) - 1;
     }},
    {"frequency and presence penalty",
     [](plain::Case& c, Random& r) {
       c.params.frequency_penalty = r.uniform_f(-1, 2);
       c.params.presence_penalty = r.uniform_f(-1, 2);
       c.params.repeat_last_n = r.below(40) - 1;
     }},
    {"DRY",
     [](plain::Case& c, Random& r) {
       c.params.dry_multiplier = r.uniform_f(0.1, 2);
       c.params.dry_base = r.uniform_f(1, 2);
       c.params.dry_allowed_length = r.below(4);
       c.params.dry_penalty_last_n = r.below(60) - 1;
       for (int n = r.below(3); n > 0; --n)
         c.params.dry_breakers.push_back(r.ids(1 + static_cast<size_t>(r.below(3)), c.logits.size()));
       if (r.one_in(2)) c.params.dry_breakers.push_back(r.ids(1, std::min<size_t>(c.logits.size(), 4)));
       if (r.one_in(2)) c.params.dry_breakers.push_back(r.ids(2, std::min<size_t>(c.logits.size(), 4)));
     }},
    {"logit bias",
     [](plain::Case& c, Random& r) {
       for (int n = 0; n < 5; ++n)
         c.params.logit_bias.push_back({r.below(c.logits.size()), r.uniform_f(-5, 5)});
     }},
    {"allowed and banned ids",
     [](plain::Case& c, Random& r) {
       c.params.allowed_ids = r.ids(6, c.logits.size());
       c.params.allowed_ids.push_back(1);
       c.params.banned_ids = r.ids(3, c.logits.size());
       std::erase(c.params.banned_ids, 1);
     }},
    {"mask",
     [](plain::Case& c, Random& r) {
       for (size_t i = 0; i < c.logits.size(); ++i) {
         if (i != 1 && r.below(10) < 6) c.banned.insert(static_cast<int32_t>(i));
       }
     }},
};

TEST(SamplerModel, EachSamplerAloneFollowsThePlainModel) {
  for (const Setting& setting : kSettings) {
    Random random(17);
    for (int round = 0; round < 250; ++round) {
      plain::Case c = random_case(random);
      setting.set(c, random);
      expect_follows(std::move(c), setting.name, round);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(SamplerModel, ManySamplersTogetherFollowThePlainModel) {
  Random random(18);
  for (int round = 0; round < 2500; ++round) {
    plain::Case c = random_case(random);
    for (const Setting& setting : kSettings) {
      if (random.one_in(3)) setting.set(c, random);
    }
    std::erase_if(c.params.banned_ids, [&](int32_t id) { return id == 1; });
    expect_follows(std::move(c), "mixture", round);
    if (HasFatalFailure()) return;
  }
}

TEST(SamplerModel, StagesRunInTheOrderThatIsAskedFor) {
  Random random(19);
  std::mt19937_64 shuffler(20);
  for (int round = 0; round < 2500; ++round) {
    plain::Case c = random_case(random);
    for (const Setting& setting : kSettings) {
      if (random.one_in(3)) setting.set(c, random);
    }
    std::shuffle(c.params.stages.begin(), c.params.stages.end(), shuffler);
    if (random.one_in(3)) c.params.stages.resize(5);
    expect_follows(std::move(c), "order", round);
    if (HasFatalFailure()) return;
  }
}

TEST(SamplerModel, MirostatFollowsThePlainModelWithItsState) {
  for (const Mirostat version : {Mirostat::kV1, Mirostat::kV2}) {
    Random random(21);
    for (int round = 0; round < 500; ++round) {
      plain::Case c = random_case(random);
      c.params.mirostat = version;
      c.params.mirostat_tau = random.uniform_f(0.5, 6);
      c.params.mirostat_eta = random.uniform_f(0.01, 0.5);
      c.params.temperature = random.uniform_f(0.5, 1.5);
      c.params.top_k = random.below(10);  // without effect
      c.params.xtc_probability = 1;
      if (random.one_in(3)) c.params.frequency_penalty = random.uniform_f(0, 2);
      expect_follows(std::move(c), version == Mirostat::kV1 ? "mirostat 1" : "mirostat 2", round);
      if (HasFatalFailure()) return;
    }
  }
}

// The draw itself: counters 0 to n - 1 give each token as often as the model says.
TEST(SamplerModel, CountsOverFixedCountersFitTheDistribution) {
  Random random(22);
  for (int round = 0; round < 40; ++round) {
    plain::Case c = random_case(random);
    c.logits.resize(std::min<size_t>(c.logits.size(), 64));
    c.prompt = c.generated = {};
    c.params.temperature = random.uniform_f(0.3, 2);
    if (round % 2 == 0) c.params.top_p = random.uniform_f(0.3, 1);
    if (round % 4 == 1) c.params.xtc_probability = 0.4f;
    constexpr int kDraws = 4000;
    std::map<int32_t, double> want;
    const double share = static_cast<double>(c.params.xtc_probability);
    for (const bool strikes : {false, true}) {
      c.xtc_strikes = strikes;
      for (const auto& item : plain::distribution(c))
        want[item.id] += (strikes ? share : 1 - share) * static_cast<double>(item.p);
    }
    auto sampler = Sampler::make(c.params, static_cast<int32_t>(c.logits.size()));
    std::map<int32_t, int> counts;
    for (uint64_t i = 0; i < kDraws; ++i) ++counts[sampler->sample(c.logits, {}, {}, i)->id];
    double chi2 = 0;
    for (const auto& [id, p] : want) chi2 += std::pow(counts[id] - p * kDraws, 2) / (p * kDraws + 1);
    for (const auto& [id, n] : counts) ASSERT_TRUE(want.contains(id)) << "round " << round << " id " << id;
    const auto n = static_cast<double>(want.size());
    EXPECT_LE(chi2, n + 6 * std::sqrt(2 * n)) << "round " << round;
  }
}

}  // namespace
}  // namespace skua
