#include "engine/scheduler.h"

#include <gtest/gtest.h>

namespace skua {
namespace {

class SchedulerTest : public ::testing::Test {
 protected:
  CacheManager& cache(int32_t n_pages = 16) {
    if (!cache_) cache_.emplace(CacheLayout{{{SlotKind::kFull, 0}}, {0}}, std::vector<int32_t>{n_pages});
    return *cache_;
  }

  Status enqueue(Scheduler& scheduler, uint64_t id, int32_t n_prompt, int32_t priority = 0,
                 int32_t n_choices = 1) {
    auto request = std::make_shared<GenerateRequest>();
    request->priority = priority;
    std::vector<std::unique_ptr<Sequence>> choices;
    for (int32_t choice = 0; choice < n_choices; ++choice) {
      auto seq = std::make_unique<Sequence>();
      seq->request_id = SeqId(id);
      seq->choice = choice;
      seq->arrival = arrival_++;
      seq->request = request;
      seq->ids.assign(static_cast<size_t>(n_prompt), 1);
      seq->n_prompt = n_prompt;
      choices.push_back(std::move(seq));
    }
    return scheduler.enqueue(std::move(choices));
  }

  /// Admits, schedules, and gives every complete sequence one token.
  ScheduledStep next(Scheduler& scheduler) {
    for (Sequence* seq : scheduler.admit(cache())) seq->pages = cache().new_tables();
    ScheduledStep step;
    const Status status = scheduler.schedule(cache(), 0, nullptr, step);
    EXPECT_TRUE(status.ok()) << status.message();
    for (const RowOwner& owner : step.owners) owner.seq->ids.push_back(7);
    return step;
  }

  std::optional<CacheManager> cache_;
  uint64_t arrival_ = 0;
};

std::vector<int32_t> lengths(const ScheduledStep& step) {
  std::vector<int32_t> out;
  for (const BatchSeq& seq : step.batch.seqs) out.push_back(seq.q_len);
  return out;
}

std::vector<uint64_t> owners(const ScheduledStep& step) {
  std::vector<uint64_t> out;
  for (const RowOwner& owner : step.owners) out.push_back(owner.seq->request_id.value());
  return out;
}

TEST_F(SchedulerTest, ChunksPromptsAndMixesThemWithDecoding) {
  Scheduler scheduler({2, 8, 10});
  ASSERT_TRUE(enqueue(scheduler, 1, 5).ok());
  ASSERT_TRUE(enqueue(scheduler, 2, 12).ok());
  const ScheduledStep first = next(scheduler);
  EXPECT_EQ(lengths(first), (std::vector<int32_t>{5, 3}));
  EXPECT_EQ(first.batch.rows, (std::vector<int32_t>{4}));  // only the first prompt is complete
  const ScheduledStep second = next(scheduler);
  EXPECT_EQ(lengths(second), (std::vector<int32_t>{1, 7}));
  EXPECT_EQ(second.batch.positions, (std::vector<int32_t>{5, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(second.batch.seqs[0].kv_len, 6);
}

TEST_F(SchedulerTest, AdmitsByPriorityThenInOrderOfArrival) {
  Scheduler scheduler({1, 8, 10});
  ASSERT_TRUE(enqueue(scheduler, 1, 2).ok());
  ASSERT_TRUE(enqueue(scheduler, 2, 2).ok());
  ASSERT_TRUE(enqueue(scheduler, 3, 2, /*priority=*/5).ok());
  for (uint64_t id : {3, 1, 2}) {
    EXPECT_EQ(owners(next(scheduler)), (std::vector<uint64_t>{id}));
    const auto done = scheduler.remove(SeqId(id), 0);
    for (PageTable& table : done->pages) table.release_all(0);
  }
  EXPECT_TRUE(scheduler.idle());
}

TEST_F(SchedulerTest, AFullQueueRefusesAllChoicesOfARequest) {
  Scheduler scheduler({1, 8, 3});
  ASSERT_TRUE(enqueue(scheduler, 1, 1).ok());
  EXPECT_EQ(enqueue(scheduler, 2, 1, 0, /*n_choices=*/3).code(), Code::kResourceExhausted);
  EXPECT_EQ(scheduler.n_waiting(), 1u);
  EXPECT_EQ(scheduler.remove(SeqId(2), 0), nullptr);
}

TEST_F(SchedulerTest, FurtherChoicesWaitForTheFirstOnesPrompt) {
  Scheduler scheduler({4, 8, 10});
  ASSERT_TRUE(enqueue(scheduler, 1, 12, 0, /*n_choices=*/3).ok());
  EXPECT_EQ(lengths(next(scheduler)), (std::vector<int32_t>{8}));
  EXPECT_EQ(lengths(next(scheduler)), (std::vector<int32_t>{4}));
  EXPECT_EQ(scheduler.n_waiting(), 2u);
  EXPECT_EQ(lengths(next(scheduler)), (std::vector<int32_t>{1, 7}));
}

TEST_F(SchedulerTest, WhenPagesRunOutTheLeastEntitledWaitsAgain) {
  cache(3);
  Scheduler scheduler({2, 256, 10});
  ASSERT_TRUE(enqueue(scheduler, 1, 60).ok());
  ASSERT_TRUE(enqueue(scheduler, 2, 60).ok());
  next(scheduler);  // the second is not promised pages beside the first's, and comes a step later
  for (int i = 0; i < 5; ++i) next(scheduler);  // the first has 65 tokens in two pages, the second 64 in one
  EXPECT_EQ(scheduler.n_running(), 2u);
  next(scheduler);
  EXPECT_EQ(scheduler.n_running(), 1u);
  EXPECT_EQ(scheduler.n_waiting(), 1u);
  scheduler.for_each([](const Sequence& seq) {
    EXPECT_EQ(seq.usage.n_preemptions, seq.request_id.value() == 2 ? 1 : 0);
    if (seq.request_id.value() == 2) {
      EXPECT_EQ(seq.n_cached, 0);
    }
  });
}

TEST_F(SchedulerTest, OneSequenceThatCannotFitIsAnError) {
  cache(1);
  Scheduler scheduler({2, 256, 10});
  ASSERT_TRUE(enqueue(scheduler, 1, 65).ok());
  for (Sequence* seq : scheduler.admit(cache())) seq->pages = cache().new_tables();
  ScheduledStep step;
  EXPECT_EQ(scheduler.schedule(cache(), 0, nullptr, step).code(), Code::kResourceExhausted);
}

TEST_F(SchedulerTest, DraftsGetRowsOfTheirOwn) {
  Scheduler scheduler({1, 8, 10});
  ASSERT_TRUE(enqueue(scheduler, 1, 2).ok());
  next(scheduler);
  ScheduledStep step;
  const auto propose = [](Sequence& seq, int32_t max_tokens) {
    EXPECT_EQ(max_tokens, 7);
    seq.draft = {4, 5, 6};
  };
  ASSERT_TRUE(scheduler.schedule(cache(), 0, propose, step).ok());
  EXPECT_EQ(step.batch.ids, (std::vector<int32_t>{7, 4, 5, 6}));
  EXPECT_EQ(step.batch.rows, (std::vector<int32_t>{0, 1, 2, 3}));
  ASSERT_EQ(step.owners.size(), 1u);
  EXPECT_EQ(step.owners[0].n_rows, 4);
}

}  // namespace
}  // namespace skua
