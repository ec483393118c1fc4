// The promise of the house: the logits of a prompt are the same bytes however it is run. Every registered
// family, on cpu in f32: (a) one prefill against (b) random chunks, (c) one token at a time, (d) among
// strangers, (e) as verify rows of width 2 to 16, (f) after a prefix hit; and against other thread counts,
// instruction sets, processes and the unfused plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>

#include "backend/cpu/cpu_backend.h"
#include "backend/host_random.h"
#include "engine/hand_runner.h"

namespace skua::test {
namespace {

constexpr int32_t kPrompt =
    345;  // crosses page borders, the border of an attention split (256), every window
constexpr RunnerOptions kOptions{.context = 512, .max_tokens = 512, .max_seqs = 4, .fusion = Fusion::kOn};

std::unique_ptr<Backend> cpu(CpuCompute compute, DType cache, int n_threads = 1, CpuIsa isa = CpuIsa::kAuto) {
  CpuOptions options;
  options.n_threads = n_threads;
  options.isa = isa;
  options.compute = compute;
  options.cache = cache;
  return must(make_cpu_backend(options));
}

std::vector<int32_t> slice(const std::vector<int32_t>& ids, int32_t begin, int32_t n) {
  return {ids.begin() + begin, ids.begin() + begin + n};
}

void append_rows(Rows& to, Rows from) {
  for (auto& row : from) to.push_back(std::move(row));
}

/// One prefill of the prompt.
Rows prefill(HandRunner& hand, const std::vector<int32_t>& ids) {
  HandSeq seq = hand.new_seq();
  Rows rows = hand.step({{&seq, ids}});
  hand.drop(seq);
  return rows;
}

/// A text form of all bytes.
std::string digest(const Rows& rows) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const auto& row : rows) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(row.data());
    for (size_t i = 0; i < row.size() * sizeof(float); ++i) hash = (hash ^ bytes[i]) * 0x100000001B3u;
  }
  return std::to_string(hash);
}

/// A model and the CPU arithmetic that it runs with.
struct Subject {
  FamilyModel model;
  CpuCompute compute;
  DType cache = DType::kF32;

  std::string name() const {
    return model.name + (compute == CpuCompute::kF32 ? "_f32" : "_native") +
           (cache == DType::kF32 ? "" : "_cache_" + std::string(dtype_name(cache)));
  }
};
void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.name(); }

/// Every model in f32; those with quantized weights also with rounded activations. Some also with a cache of
/// 16-bit numbers.
std::vector<Subject> subjects() {
  std::vector<Subject> out;
  for (const FamilyModel& model : family_models()) {
    out.push_back({model, CpuCompute::kF32});
    if (!model.format.is_plain()) out.push_back({model, CpuCompute::kNative});
  }
  for (const FamilyModel& model : sample_models_with_heads()) {
    const CpuCompute compute = model.format.is_plain() ? CpuCompute::kF32 : CpuCompute::kNative;
    for (const DType cache : {DType::kF16, DType::kBF16}) out.push_back({model, compute, cache});
  }
  return out;
}

class SameBytes : public testing::TestWithParam<Subject> {
 protected:
  std::unique_ptr<HandRunner> make(int n_threads = 1, CpuIsa isa = CpuIsa::kAuto,
                                   Fusion fusion = Fusion::kOn) {
    RunnerOptions options = kOptions;
    options.fusion = fusion;
    return std::make_unique<HandRunner>(GetParam().model,
                                        cpu(GetParam().compute, GetParam().cache, n_threads, isa), options);
  }

  void SetUp() override {
    hand_ = make();
    ids_ = random_ids(7, kPrompt, hand_->n_vocab());
    whole_ = prefill(*hand_, ids_);
    ASSERT_EQ(whole_.size(), static_cast<size_t>(kPrompt));
    std::set<std::vector<float>> distinct(whole_.begin(), whole_.end());
    ASSERT_GT(distinct.size(), static_cast<size_t>(kPrompt) - 5) << "rows that hardly differ prove nothing";
    for (const auto& row : whole_) {
      for (float logit : row) ASSERT_TRUE(std::isfinite(logit));
    }
  }

  void expect_whole(const Rows& rows, const std::string& arm) const {
    const int row = first_different_row(whole_, rows);
    EXPECT_EQ(row, -1) << GetParam().name() << ", " << arm << ": position " << row << " differs";
  }

  std::unique_ptr<HandRunner> hand_;
  std::vector<int32_t> ids_;
  Rows whole_;
  int hits_ = 0;
};

TEST_P(SameBytes, TwiceAndInChunksAtRandomBorders) {
  expect_whole(prefill(*hand_, ids_), "the same prefill again");
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    HandSeq seq = hand_->new_seq();
    Rows rows;
    for (int32_t chunk : random_chunks(seed, kPrompt, seed % 2 == 0 ? 90 : 25)) {
      append_rows(rows, hand_->step({{&seq, slice(ids_, seq.n_cached, chunk)}}));
    }
    hand_->drop(seq);
    expect_whole(rows, "chunks of seed " + std::to_string(seed));
  }
}

TEST_P(SameBytes, OneTokenAtATime) {
  HandSeq seq = hand_->new_seq();
  Rows rows;
  for (int32_t i = 0; i < kPrompt; ++i) append_rows(rows, hand_->step({{&seq, slice(ids_, i, 1)}}));
  expect_whole(rows, "one token at a time");
}

TEST_P(SameBytes, AmongStrangers) {
  for (uint64_t seed = 20; seed < 24; ++seed) {
    Random random(seed);
    HandSeq own = hand_->new_seq();
    std::vector<HandSeq> strangers;
    for (int i = 0; i < 3; ++i) strangers.push_back(hand_->new_seq());
    Rows rows;
    for (int32_t chunk : random_chunks(seed, kPrompt, seed % 2 == 0 ? 60 : 12)) {
      std::vector<Part> parts;
      const auto before = static_cast<size_t>(random.below(4));  // strangers that come first in the batch
      size_t first_row = 0;
      for (size_t i = 0; i < strangers.size(); ++i) {
        if (i == before) parts.push_back({&own, slice(ids_, own.n_cached, chunk)});
        const auto n = static_cast<int32_t>(1 + random.below(i == 0 ? 1 : 30));
        if (strangers[i].n_cached + n > kOptions.context) hand_->drop(strangers[i]);
        if (random.below(4) == 0) continue;
        if (i < before) first_row += static_cast<size_t>(n);
        parts.push_back({&strangers[i], random_ids(random.next(), n, hand_->n_vocab())});
      }
      if (before >= strangers.size()) parts.push_back({&own, slice(ids_, own.n_cached, chunk)});
      Rows all = hand_->step(parts);
      for (size_t i = 0; i < static_cast<size_t>(chunk); ++i) rows.push_back(std::move(all[first_row + i]));
    }
    expect_whole(rows, "strangers of seed " + std::to_string(seed));
    hand_->drop(own);
    for (HandSeq& stranger : strangers) hand_->drop(stranger);
  }
}

TEST_P(SameBytes, AsVerifyRowsOfWidth2To16WithRejectedDrafts) {
  Random random(31);
  for (int32_t width = 2; width <= 16; ++width) {
    HandSeq seq = hand_->new_seq();
    Rows rows = hand_->step({{&seq, slice(ids_, 0, 40 + width)}});
    while (seq.n_cached < kPrompt) {
      const int32_t at = seq.n_cached;
      const int32_t n = std::min(width, kPrompt - at);
      const auto accepted = static_cast<int32_t>(1 + random.below(n));
      std::vector<int32_t> drafts = slice(ids_, at, n);
      for (int32_t i = accepted; i < n; ++i)
        drafts[static_cast<size_t>(i)] = (drafts[static_cast<size_t>(i)] + 1) % hand_->n_vocab();
      Rows got = hand_->step({{&seq, drafts}});
      for (int32_t i = 0; i < accepted; ++i) rows.push_back(std::move(got[static_cast<size_t>(i)]));
      hand_->roll_back(seq, at + accepted);
    }
    hand_->drop(seq);
    expect_whole(rows, "verify rows of width " + std::to_string(width));
  }
}

TEST_P(SameBytes, AfterForgettingTheEndOfALongStep) {
  for (int32_t n : {128, 192, 200, 207}) {
    for (int32_t n_forgotten : {1, 9, 15}) {
      HandSeq seq = hand_->new_seq();
      Rows rows = hand_->step({{&seq, slice(ids_, 0, n)}});
      hand_->roll_back(seq, n - n_forgotten);
      rows.resize(static_cast<size_t>(seq.n_cached));
      append_rows(rows, hand_->step({{&seq, slice(ids_, seq.n_cached, 40)}}));
      append_rows(rows, hand_->step({{&seq, slice(ids_, seq.n_cached, kPrompt - seq.n_cached)}}));
      hand_->drop(seq);
      expect_whole(rows, std::to_string(n_forgotten) + " of " + std::to_string(n) + " tokens forgotten");
    }
  }
}

TEST_P(SameBytes, AfterAPrefixHit) {
  for (int32_t n_pages : {1, 2}) {
    HandSeq first = hand_->new_seq();
    // The first owner goes on with other tokens; its pages of the common prefix stay.
    std::vector<int32_t> other = random_ids(99, kPrompt, hand_->n_vocab());
    std::copy_n(ids_.begin(), n_pages * kPageTokens, other.begin());
    hand_->step({{&first, slice(other, 0, n_pages * kPageTokens)}});
    HandSeq second = hand_->share(first, n_pages);
    hand_->step({{&first, slice(other, n_pages * kPageTokens, 20)}});
    Rows rows(whole_.begin(), whole_.begin() + n_pages * kPageTokens);
    while (second.n_cached < kPrompt) {
      const int32_t n = std::min(17, kPrompt - second.n_cached);
      const std::vector<int32_t> chunk = slice(ids_, second.n_cached, n);
      const std::vector<int32_t> ahead = slice(other, first.n_cached, first.n_cached < kPrompt ? 1 : 0);
      std::vector<Part> parts{{&second, chunk}};
      if (!ahead.empty()) parts.push_back({&first, ahead});
      Rows got = hand_->step(parts);
      got.resize(static_cast<size_t>(n));
      append_rows(rows, std::move(got));
    }
    hand_->drop(first);
    hand_->drop(second);
    expect_whole(rows, "after a hit of " + std::to_string(n_pages) + " pages");
  }
}

TEST_P(SameBytes, AfterAHitInThePrefixTreeThatEndsWithinAPage) {
  for (int32_t n_common : {1, 63, 64, 100, 200, 330}) {
    const auto fresh = make();
    std::vector<int32_t> other = random_ids(98, kPrompt, fresh->n_vocab());
    std::copy_n(ids_.begin(), n_common, other.begin());
    other[static_cast<size_t>(n_common)] = (ids_[static_cast<size_t>(n_common)] + 1) % fresh->n_vocab();
    HandSeq first = fresh->new_seq();
    for (int32_t at = 0; at < kPrompt; at += 50)
      fresh->step({{&first, slice(other, at, std::min(50, kPrompt - at))}});
    fresh->finish(first, other);
    HandSeq second = fresh->start(ids_);
    EXPECT_LE(second.n_cached, n_common);
    hits_ += second.n_cached == n_common ? 1 : 0;
    Rows rows(whole_.begin(), whole_.begin() + second.n_cached);
    const int32_t rest = kPrompt - second.n_cached;
    append_rows(rows, fresh->step({{&second, slice(ids_, second.n_cached, rest)}}));
    expect_whole(rows, "after a hit of " + std::to_string(n_common) + " tokens");
  }
  std::printf("  %s: %d of 6 prefixes were hit to the token\n", GetParam().name().c_str(), hits_);
  EXPECT_GT(hits_, 0);
}

TEST_P(SameBytes, WithAnyNumberOfThreadsInstructionSetAndUnfused) {
  for (int n_threads : {2, 3}) {
    const auto threaded = make(n_threads);
    expect_whole(prefill(*threaded, ids_), std::to_string(n_threads) + " threads");
  }
  for (CpuIsa isa : {CpuIsa::kAvx2, CpuIsa::kAvx512}) {
    if (!resolve_cpu_isa(isa).ok()) {
      std::printf("  %s is not compared: this processor lacks it\n", std::string(cpu_isa_name(isa)).c_str());
      continue;
    }
    const auto other = make(2, isa);
    expect_whole(prefill(*other, ids_), std::string(cpu_isa_name(isa)));
  }
  const auto plain = make(1, CpuIsa::kAuto, Fusion::kOff);
  expect_whole(prefill(*plain, ids_), "unfused");
  HandSeq seq = plain->new_seq();
  Rows rows;
  for (int32_t chunk : random_chunks(5, kPrompt, 20))
    append_rows(rows, plain->step({{&seq, slice(ids_, seq.n_cached, chunk)}}));
  expect_whole(rows, "unfused, in chunks");
}

/// Run by the test below in a process of its own.
TEST_P(SameBytes, PrintsItsDigest) {
  std::printf("digest %s %s\n", GetParam().name().c_str(), digest(whole_).c_str());
}

TEST_P(SameBytes, InAnotherProcess) {
  const std::string expected = "digest " + GetParam().name() + " " + digest(whole_) + "\n";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command =
      "'" + self + "' --gtest_filter='All/SameBytes.PrintsItsDigest/" + GetParam().name() + "'";
  std::FILE* other = popen(command.c_str(), "r");
  ASSERT_NE(other, nullptr);
  std::string digest_line;
  char line[4096];
  while (std::fgets(line, sizeof(line), other) != nullptr) {
    if (std::string_view(line).starts_with("digest ")) digest_line = line;
  }
  EXPECT_EQ(pclose(other), 0);
  EXPECT_EQ(digest_line, expected);
}

INSTANTIATE_TEST_SUITE_P(All, SameBytes, testing::ValuesIn(subjects()),
                         [](const testing::TestParamInfo<Subject>& param) { return param.param.name(); });

TEST(FamilyModels, CoverEveryRegisteredFamily) {
  std::set<std::string> covered;
  for (const FamilyModel& model : family_models()) covered.insert(model.family);
  for (const Family* family : families()) {
    EXPECT_TRUE(covered.contains(std::string(family->name)))
        << family->name << " has no model in family_models.cc";
  }
}

}  // namespace
}  // namespace skua::test
