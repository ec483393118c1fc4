#include "engine/state_file.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "engine/engine.h"
#include "engine/family_models.h"
#include "engine/runner.h"

namespace skua {
namespace {

class StateFile : public ::testing::TestWithParam<test::FamilyModel> {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() /
            ("skua_state_" + std::to_string(::getpid()) + "_" + GetParam().name);
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::unique_ptr<Engine> open(const std::string& cache_type = "f32") {
    EngineOptions options;
    options.n_threads = 1;
    options.context = 256;
    options.compute = "f32";
    options.cache_type = cache_type;
    auto engine = Engine::open(test::make_checkpoint(GetParam()), options);
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    return std::move(engine).value();
  }

  /// The reply to `prompt`, and how much of it was cached.
  std::pair<std::vector<int32_t>, int32_t> reply(Engine& engine, const std::vector<int32_t>& prompt) {
    GenerateRequest request;
    request.prompt_ids = prompt;
    request.max_tokens = 12;
    const auto id = engine.submit(request);
    EXPECT_TRUE(id.ok()) << id.status().message();
    std::pair<std::vector<int32_t>, int32_t> out;
    while (!engine.idle()) {
      for (const StreamEvent& event : engine.step()) {
        out.first.insert(out.first.end(), event.ids.begin(), event.ids.end());
        if (event.finish != FinishReason::kNone) out.second = event.usage.cached_tokens;
      }
    }
    return out;
  }

  std::vector<int32_t> prompt(int32_t n) {
    std::vector<int32_t> out;
    for (int32_t i = 0; i < n; ++i) out.push_back((i * 37 + 11) % 70);
    return out;
  }

  /// Writes the saved file with one change and returns the error of restoring it.
  std::string error_after(const std::function<void(std::string&)>& change) {
    std::string bytes = *read_file(path_);
    change(bytes);
    const std::filesystem::path other = path_.string() + ".bad";
    EXPECT_TRUE(write_file_atomic(other, bytes).ok());
    const auto restored = open()->restore_state(other);
    std::filesystem::remove(other);
    return restored.ok() ? "" : restored.status().message();
  }

  std::filesystem::path path_;
};

TEST_P(StateFile, AConversationGoesOnInAnotherProcessWithTheSameBytes) {
  const auto first = open();
  const auto ids = prompt(150);
  const auto [text, cached] = reply(*first, ids);
  EXPECT_EQ(cached, 0);
  const auto saved = first->save_state(ids, path_);
  ASSERT_TRUE(saved.ok()) << saved.status().message();
  EXPECT_EQ(*saved, 150);
  const auto second = open();
  const auto restored = second->restore_state(path_);
  ASSERT_TRUE(restored.ok()) << restored.status().message();
  EXPECT_EQ(*restored, ids);
  const auto [again, reused] = reply(*second, ids);
  EXPECT_EQ(again, text);
  EXPECT_EQ(reused, 149);
}

TEST_P(StateFile, BelongsToOneTypeOfCache) {
  const auto half = open("f16");
  const auto ids = prompt(100);
  const auto [text, cached] = reply(*half, ids);
  ASSERT_TRUE(half->save_state(ids, path_).ok());
  const auto same = open("f16");
  ASSERT_TRUE(same->restore_state(path_).ok());
  EXPECT_EQ(reply(*same, ids), std::make_pair(text, 99));
  for (const std::string other : {"bf16", "f32"}) {
    const auto engine = open(other);
    EXPECT_NE(engine->runner().fingerprint(), half->runner().fingerprint());
    const auto restored = engine->restore_state(path_);
    ASSERT_FALSE(restored.ok());
    EXPECT_EQ(restored.status().code(), Code::kInvalidArgument);
    EXPECT_NE(restored.status().message().find("--cache-type f16, this run has " + other), std::string::npos)
        << restored.status().message();
    EXPECT_EQ(reply(*engine, ids).second, 0);  // nothing of it is in the cache
  }
}

TEST_P(StateFile, WhatDoesNotFitIsRefusedWithAReason) {
  const auto engine = open();
  const auto ids = prompt(100);
  EXPECT_EQ(engine->save_state(ids, path_).status().code(), Code::kNotFound);
  (void)reply(*engine, ids);
  ASSERT_TRUE(engine->save_state(ids, path_).ok());
  EXPECT_EQ(engine->save_state(ids, path_ / "no" / "folder").status().code(), Code::kNotFound);
  EXPECT_NE(error_after([](std::string& b) { b.resize(b.size() - 1); }).find("bytes after its header"),
            std::string::npos);
  EXPECT_NE(error_after([](std::string& b) { b.resize(20); }).find("too short"), std::string::npos);
  EXPECT_NE(error_after([](std::string& b) { b[0] = 'x'; }).find("not a saved state"), std::string::npos);
  EXPECT_NE(error_after([](std::string& b) { b[8] = 9; }).find("version 9"), std::string::npos);
  EXPECT_NE(error_after([](std::string& b) { b[16] ^= 1; }).find("other weights"), std::string::npos);
  EXPECT_NE(error_after([](std::string& b) { b[b.size() / 2] ^= 1; }).find("damaged"), std::string::npos);
  EXPECT_EQ(open()->restore_state(path_.string() + ".none").status().code(), Code::kNotFound);
}

INSTANTIATE_TEST_SUITE_P(Families, StateFile, ::testing::ValuesIn(test::sample_family_models()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace skua
