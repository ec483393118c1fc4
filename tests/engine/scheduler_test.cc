#include "engine/scheduler.h"

#include <gtest/gtest.h>

namespace skua {
namespace {

std::unique_ptr<Sequence> sequence(uint64_t id, int32_t n_prompt) {
  auto out = std::make_unique<Sequence>();
  out->id = SeqId(id);
  out->ids.assign(static_cast<size_t>(n_prompt), 1);
  out->n_prompt = n_prompt;
  return out;
}

void admit(Scheduler& scheduler, CacheManager& cache) {
  for (Sequence* seq : scheduler.admit()) seq->pages = cache.new_tables();
}

std::vector<int32_t> lengths(const ScheduledStep& step) {
  std::vector<int32_t> out;
  for (const BatchSeq& seq : step.batch.seqs) out.push_back(seq.q_len);
  return out;
}

TEST(Scheduler, ChunksPromptsAndMixesThemWithDecoding) {
  CacheManager cache({{{SlotKind::kFull, 0}}, {0}}, {16});
  Scheduler scheduler({2, 8, 10});
  ASSERT_TRUE(scheduler.enqueue(sequence(1, 5)).ok());
  ASSERT_TRUE(scheduler.enqueue(sequence(2, 12)).ok());
  admit(scheduler, cache);
  auto first = scheduler.schedule(cache, 0);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(lengths(*first), (std::vector<int32_t>{5, 3}));
  ASSERT_EQ(first->row_owner.size(), 1u);  // only the first prompt is complete
  EXPECT_EQ(first->batch.rows, (std::vector<int32_t>{4}));
  first->row_owner[0]->ids.push_back(7);
  auto second = scheduler.schedule(cache, 0);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(lengths(*second), (std::vector<int32_t>{1, 7}));
  EXPECT_EQ(second->batch.positions, (std::vector<int32_t>{5, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(second->batch.seqs[0].kv_len, 6);
}

TEST(Scheduler, AdmitsInOrderOfArrivalUpToTheLimit) {
  CacheManager cache({{{SlotKind::kFull, 0}}, {0}}, {16});
  Scheduler scheduler({1, 8, 10});
  ASSERT_TRUE(scheduler.enqueue(sequence(1, 2)).ok());
  ASSERT_TRUE(scheduler.enqueue(sequence(2, 2)).ok());
  admit(scheduler, cache);
  EXPECT_EQ(scheduler.schedule(cache, 0)->row_owner[0]->id, SeqId(1));
  const auto first = scheduler.remove(SeqId(1));
  for (PageTable& table : first->pages) table.release_all(0);
  admit(scheduler, cache);
  EXPECT_EQ(scheduler.schedule(cache, 0)->row_owner[0]->id, SeqId(2));
  EXPECT_FALSE(scheduler.idle());
}

TEST(Scheduler, AFullQueueRefuses) {
  Scheduler scheduler({1, 8, 2});
  ASSERT_TRUE(scheduler.enqueue(sequence(1, 1)).ok());
  ASSERT_TRUE(scheduler.enqueue(sequence(2, 1)).ok());
  const Status status = scheduler.enqueue(sequence(3, 1));
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(scheduler.remove(SeqId(3)), nullptr);
}

}  // namespace
}  // namespace skua
