#include "engine/engine.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/runner.h"
#include "engine/tiny_model.h"

namespace skua {
namespace {

EngineOptions options(int32_t max_seqs = 4) {
  EngineOptions out;
  out.n_threads = 1;
  out.context = 128;
  out.max_seqs = max_seqs;
  out.prefill_chunk = 16;
  return out;
}

std::unique_ptr<Engine> engine(const EngineOptions& wanted = options()) {
  auto out = Engine::open(tiny_model(), wanted);
  EXPECT_TRUE(out.ok()) << out.status().message();
  return std::move(out).value();
}

GenerateRequest request(std::vector<int32_t> prompt, int32_t max_tokens, uint64_t seed = 1) {
  GenerateRequest out;
  out.prompt_ids = std::move(prompt);
  out.max_tokens = max_tokens;
  out.sampling.seed = seed;
  return out;
}

struct Reply {
  std::vector<int32_t> ids;
  FinishReason finish = FinishReason::kNone;
  Status status;
  Usage usage;
  int n_terminal = 0;
};

/// Steps until idle and collects what each request got.
std::map<SeqId, Reply> drain(Engine& e) {
  std::map<SeqId, Reply> out;
  for (int guard = 0; !e.idle() && guard < 10000; ++guard) {
    for (StreamEvent& event : e.step()) {
      Reply& reply = out[event.seq];
      EXPECT_EQ(reply.n_terminal, 0) << "an event after the terminal one";
      reply.ids.insert(reply.ids.end(), event.ids.begin(), event.ids.end());
      if (event.finish == FinishReason::kNone) continue;
      reply.finish = event.finish;
      reply.status = event.status;
      reply.usage = event.usage;
      ++reply.n_terminal;
    }
  }
  EXPECT_TRUE(e.idle());
  return out;
}

Reply run_one(Engine& e, GenerateRequest wanted) {
  const auto id = e.submit(std::move(wanted));
  EXPECT_TRUE(id.ok()) << id.status().message();
  return drain(e)[*id];
}

TEST(Engine, GeneratesUntilTheTokenLimitAndCounts) {
  const auto e = engine();
  const Reply reply = run_one(*e, request({1, 2, 3}, 10));
  EXPECT_EQ(reply.finish, FinishReason::kLength);
  EXPECT_EQ(reply.ids.size(), 10u);
  EXPECT_EQ(reply.usage.prompt_tokens, 3);
  EXPECT_EQ(reply.usage.completion_tokens, 10);
  EXPECT_EQ(reply.n_terminal, 1);
}

TEST(Engine, ARequestGetsTheSameIdsAloneAndAmongStrangers) {
  std::vector<std::vector<int32_t>> alone;
  const auto wanted = [](int i) {
    std::vector<int32_t> prompt;
    for (int k = 0; k < 5 + 13 * i; ++k) prompt.push_back((k * 7 + i) % 32);
    return request(std::move(prompt), 12 + i, static_cast<uint64_t>(i));
  };
  for (int i = 0; i < 6; ++i) alone.push_back(run_one(*engine(options(1)), wanted(i)).ids);
  const auto e = engine(options(3));
  std::vector<SeqId> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(*e->submit(wanted(i)));
  auto together = drain(*e);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(together[ids[i]].ids, alone[i]) << "request " << i;
}

TEST(Engine, StopsAtAStopId) {
  const auto e = engine();
  const Reply free_run = run_one(*e, request({1, 2, 3}, 10));
  GenerateRequest wanted = request({1, 2, 3}, 10);
  wanted.sampling.stop_ids = {free_run.ids[4]};
  const Reply stopped = run_one(*e, wanted);
  EXPECT_EQ(stopped.finish, FinishReason::kStop);
  const auto first =
      std::find(free_run.ids.begin(), free_run.ids.end(), free_run.ids[4]) - free_run.ids.begin();
  EXPECT_EQ(stopped.ids, std::vector<int32_t>(free_run.ids.begin(), free_run.ids.begin() + first));
}

TEST(Engine, EndTokensOfTheModelStopUnlessToldOtherwise) {
  const Reply free_run = run_one(*engine(), request({1, 2, 3}, 10));
  auto checkpoint = tiny_model();
  Json config = checkpoint->config();
  config.set("eos_token_id", free_run.ids[4]);
  checkpoint->set_config(std::move(config));
  const auto opened = Engine::open(std::move(checkpoint), options());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  GenerateRequest wanted = request({1, 2, 3}, 10);
  EXPECT_EQ(run_one(**opened, wanted).finish, FinishReason::kStop);
  wanted.end_tokens = EndTokens::kIgnore;
  const Reply ignoring = run_one(**opened, wanted);
  EXPECT_EQ(ignoring.finish, FinishReason::kLength);
  EXPECT_EQ(ignoring.ids, free_run.ids);
}

TEST(Engine, CancelEndsWithinOneStepAndGivesThePagesBack) {
  const auto e = engine(options(2));
  const int32_t n_free = e->runner().pools()[0].n_free();
  const SeqId first = *e->submit(request({1, 2, 3}, 100));
  const SeqId second = *e->submit(request({4, 5}, 5));
  (void)e->step();
  e->cancel(first);
  bool cancelled = false;
  for (const StreamEvent& event : e->step()) {
    cancelled |= event.seq == first && event.finish == FinishReason::kCancelled;
  }
  EXPECT_TRUE(cancelled);
  EXPECT_EQ(drain(*e)[second].finish, FinishReason::kLength);
  e->runner().cache().prefixes().clear(e->runner().step());
  e->runner().pools()[0].reclaim(e->runner().step());
  EXPECT_EQ(e->runner().pools()[0].n_free(), n_free);
}

// Fault B079: a prompt that is cached whole, to its last token; nothing poisoned may survive.
TEST(Engine, TheSameRequestAgainReusesItsPrefixAndGivesTheSameIds) {
  const auto e = engine();
  std::vector<int32_t> prompt;
  for (int i = 0; i < 90; ++i) prompt.push_back(i * 5 % 32);
  const Reply first = run_one(*e, request(prompt, 20));
  EXPECT_EQ(first.usage.cached_tokens, 0);
  for (int i = 0; i < 3; ++i) {
    const Reply again = run_one(*e, request(prompt, 20));
    EXPECT_EQ(again.usage.cached_tokens, 89);
    EXPECT_EQ(again.ids, first.ids);
  }
  // A longer conversation takes over the reply too, an earlier branch only what it shares.
  std::vector<int32_t> longer = prompt;
  longer.insert(longer.end(), first.ids.begin(), first.ids.end());
  const Reply next = run_one(*e, request(longer, 10));
  EXPECT_EQ(next.usage.cached_tokens, 109);
  EXPECT_EQ(next.ids, run_one(*engine(), request(longer, 10)).ids);
  prompt[70] = (prompt[70] + 1) % 32;
  const Reply branch = run_one(*e, request(prompt, 10));
  EXPECT_EQ(branch.usage.cached_tokens, 70);
  EXPECT_EQ(branch.ids, run_one(*engine(), request(prompt, 10)).ids);
}

// B130
TEST(Engine, CachedPrefixesGiveWayWhenPagesRunOut) {
  const auto e = engine(options(1));  // 2 pages in all
  for (int i = 0; i < 20; ++i) {
    std::vector<int32_t> prompt(100, i % 32);
    const Reply reply = run_one(*e, request(prompt, 20));
    EXPECT_EQ(reply.finish, FinishReason::kLength) << reply.status.message();
    EXPECT_EQ(reply.ids.size(), 20u);
  }
}

// B124
TEST(Engine, TheContextIsALimitWithBothNumbersNamed) {
  const auto e = engine();
  const auto refused = e->submit(request(std::vector<int32_t>(128, 1), 5));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("the prompt has 128 tokens, but the context holds 128"),
            std::string::npos)
      << refused.status().message();
  const Reply reply = run_one(*e, request(std::vector<int32_t>(120, 1), -1));
  EXPECT_EQ(reply.finish, FinishReason::kLength);
  EXPECT_EQ(reply.ids.size(), 8u);
}

TEST(Engine, RefusesBadRequests) {
  const auto e = engine();
  EXPECT_FALSE(e->submit(request({}, 5)).ok());
  EXPECT_FALSE(e->submit(request({32}, 5)).ok());
  EXPECT_FALSE(e->submit(request({-1}, 5)).ok());
  EXPECT_FALSE(e->submit(request({1}, 0)).ok());
  GenerateRequest hot = request({1}, 5);
  hot.sampling.temperature = -1;
  EXPECT_FALSE(e->submit(hot).ok());
  GenerateRequest stop = request({1}, 5);
  stop.stop = {"x"};
  EXPECT_FALSE(e->submit(stop).ok());  // no tokenizer in this checkpoint
  EXPECT_TRUE(e->idle());
}

TEST(Engine, RefusesBadOptions) {
  const auto error = [](const EngineOptions& wanted) {
    const auto out = Engine::open(tiny_model(), wanted);
    return out.ok() ? std::string() : out.status().message();
  };
  EngineOptions o = options();
  o.backend = "abacus";
  EXPECT_NE(error(o).find("backend must be cpu or ref, got \"abacus\""), std::string::npos);
  o = options();
  o.context = 1000;
  EXPECT_NE(error(o).find("1000"), std::string::npos) << error(o);
  o = options();
  o.compute = "f16";
  EXPECT_NE(error(o), "");
  o = options();
  o.max_seqs = 0;
  EXPECT_NE(error(o), "");
}

TEST(Engine, PrintsItsPlan) {
  const auto e = engine();
  const auto text = e->print_plan(1, Engine::PlanFormat::kText);
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find("layers.1.attend"), std::string::npos) << *text;
  EXPECT_TRUE(e->print_plan(1, Engine::PlanFormat::kDot)->starts_with("digraph"));
  EXPECT_FALSE(e->print_plan(0, Engine::PlanFormat::kText).ok());
}

}  // namespace
}  // namespace skua
