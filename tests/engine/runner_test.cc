#include "engine/runner.h"

#include <gtest/gtest.h>

#include "backend/ref/ref_backend.h"
#include "cache/page_table.h"
#include "engine/tiny_model.h"

namespace skua {
namespace {

/// A tiny model on ref with one hand-held sequence.
class RunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    backend_ = make_ref_backend({});
    auto model = load_model(*tiny_model(), *backend_, ConfigPolicy::kStrict, nullptr);
    ASSERT_TRUE(model.ok()) << model.status().message();
    model_ = std::move(model).value();
    auto runner = Runner::create(model_, *backend_, {128, 64, 2, Fusion::kOn});
    ASSERT_TRUE(runner.ok()) << runner.status().message();
    runner_ = std::move(runner).value();
    table_ = std::make_unique<PageTable>(&runner_->pools()[0]);
  }

  Status run(std::vector<int32_t> ids, int32_t n_cached, int32_t n_rows = 1) {
    SKUA_RETURN_IF_ERROR(table_->extend(n_cached + static_cast<int32_t>(ids.size())));
    Batch batch;
    append(batch, ids, n_cached, n_rows, {table_->pages()});
    return runner_->run(batch);
  }

  std::unique_ptr<Backend> backend_;
  LoadedModel model_;
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<PageTable> table_;
};

TEST_F(RunnerTest, OnePrefillEqualsTokenByToken) {
  const std::vector<int32_t> ids = {3, 1, 4, 1, 5, 9, 2, 6};
  ASSERT_TRUE(run(ids, 0).ok());
  const auto whole = runner_->logits_f64();
  ASSERT_TRUE(whole.ok());
  ASSERT_EQ(whole->size(), 32u);
  table_->release_all(runner_->step());
  for (size_t i = 0; i < ids.size(); ++i) ASSERT_TRUE(run({ids[i]}, static_cast<int32_t>(i)).ok());
  EXPECT_EQ(*runner_->logits_f64(), *whole);
  EXPECT_EQ(runner_->step(), 1u + ids.size());
}

TEST_F(RunnerTest, RefusesBatchesThatDoNotFit) {
  EXPECT_EQ(runner_->run(Batch{}).code(), Code::kInvalidArgument);
  EXPECT_NE(run({32}, 0).message().find("token id 32 is outside the vocabulary of 32"), std::string::npos);
  EXPECT_FALSE(run({-1}, 0).ok());
  EXPECT_NE(run(std::vector<int32_t>(65, 1), 0).message().find("at most 64, got 65"), std::string::npos);
}

TEST_F(RunnerTest, PlansAreKeptByCapacityAndPrint) {
  const auto one = runner_->plan_for(5, 1, 1);
  const auto same = runner_->plan_for(8, 1, 1);
  const auto other = runner_->plan_for(9, 1, 1);
  ASSERT_TRUE(one.ok() && same.ok() && other.ok());
  EXPECT_EQ(*one, *same);
  EXPECT_NE(*one, *other);
  EXPECT_NE(dump(**one).find("capacity: 8 tokens"), std::string::npos);
  EXPECT_NE(dump_dot(**one).find("digraph plan"), std::string::npos);
}

}  // namespace
}  // namespace skua
