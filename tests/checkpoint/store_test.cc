#include "checkpoint/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/near_names.h"
#include "checkpoint/temp_folder.h"

namespace skua {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
namespace fs = std::filesystem;

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    root.write("home/models/smollm2-135m-instruct/SmolLM2.gguf", "GGUF......");
    root.write("home/models/smollm2-135m-instruct/.lock", "");
    root.write("home/models/single.gguf", "GGUF");
    root.write("home/models/folder/config.json", "{}");
    root.write("home/models/folder/model.safetensors", "12345");
    root.write("hub/models--org--name/refs/main", "abc123\n");
    root.write("hub/models--org--name/blobs/b1", "1234567");
    root.write("hub/models--org--name/snapshots/abc123/config.json", "{}");
    fs::create_symlink("../../blobs/b1",
                       root.path() / "hub/models--org--name/snapshots/abc123/model.safetensors");
    root.write("hub/models--org--name/snapshots/old/config.json", "{}");
    root.write("hub/models--org--quants--GGUF/snapshots/r1/q-00001-of-00002.gguf", "GGUF");
    root.write("hub/models--org--quants--GGUF/snapshots/r1/q-00002-of-00002.gguf", "GGUF!");
    root.write("hub/models--org--quants--GGUF/snapshots/r1/mmproj-f16.gguf", "GGUF");
    root.write("hub/models--org--tokenizer/refs/main", "r");
    root.write("hub/models--org--tokenizer/snapshots/r/tokenizer.json", "{}");
    root.write("hub/datasets--org--data/refs/main", "r");
    roots = {root.path() / "home", {root.path() / "hub", root.path() / "no-such-cache"}};
  }
  fs::path resolved(std::string_view model) const {
    const auto path = resolve_model(roots, model);
    return path.ok() ? path->lexically_relative(root.path()) : fs::path(path.status().message());
  }
  std::string error(std::string_view model) const {
    const auto path = resolve_model(roots, model);
    return path.ok() ? "" : path.status().message();
  }
  TempFolder root;
  StoreRoots roots;
};

TEST_F(StoreTest, ResolvesNamesOfTheStore) {
  EXPECT_EQ(resolved("smollm2-135m-instruct"), "home/models/smollm2-135m-instruct/SmolLM2.gguf");
  EXPECT_EQ(resolved("folder"), "home/models/folder");
  EXPECT_EQ(resolved("single"), "home/models/single.gguf");
  EXPECT_EQ(resolved("single.gguf"), "home/models/single.gguf");
}

TEST_F(StoreTest, ResolvesPathsAndFoldersOfOneGguf) {
  EXPECT_EQ(resolved((root.path() / "home/models/folder").string()), "home/models/folder");
  EXPECT_EQ(resolved((root.path() / "home/models/single.gguf").string()), "home/models/single.gguf");
  EXPECT_EQ(resolved((root.path() / "home/models/smollm2-135m-instruct").string()),
            "home/models/smollm2-135m-instruct/SmolLM2.gguf");
  EXPECT_EQ(resolved((root.path() / "hub/models--org--name").string()),
            "hub/models--org--name/snapshots/abc123");
}

TEST_F(StoreTest, ResolvesRepositoriesOfTheHubCache) {
  EXPECT_EQ(resolved("org/name"), "hub/models--org--name/snapshots/abc123");
  EXPECT_EQ(resolved("org/quants--GGUF"), "hub/models--org--quants--GGUF/snapshots/r1/q-00001-of-00002.gguf");
}

TEST_F(StoreTest, ARefThatNamesAMissingRevisionIsAnError) {
  root.write("hub/models--org--name/refs/main", "def456");
  EXPECT_THAT(error("org/name"),
              AllOf(HasSubstr("names revision def456"), HasSubstr("fetch the model again")));
  root.write("hub/models--org--name/refs/main", "../../../home/models/folder");
  EXPECT_THAT(error("org/name"), HasSubstr("names revision"));
  fs::remove(root.path() / "hub/models--org--name/refs/main");
  EXPECT_THAT(error("org/name"), HasSubstr("2 revisions"));
}

TEST_F(StoreTest, SeveralModelsInOneFolderAreListed) {
  root.write("home/models/many/a.gguf", "GGUF");
  root.write("home/models/many/b.gguf", "GGUF");
  EXPECT_THAT(error("many"),
              AllOf(HasSubstr("several models"), HasSubstr("many/a.gguf"), HasSubstr("many/b.gguf")));
}

TEST_F(StoreTest, UnknownModelsGetNearNamesAndWhatToDo) {
  EXPECT_THAT(error("smolm2-135m-instruct"), HasSubstr("did you mean smollm2-135m-instruct?"));
  EXPECT_THAT(error("SmolLM2"), HasSubstr("did you mean smollm2-135m-instruct?"));
  EXPECT_THAT(error("Org/Nme"), HasSubstr("did you mean org/name?"));
  EXPECT_THAT(error("zzz"), AllOf(HasSubstr("skua list"), HasSubstr((root.path() / "home/models").string()),
                                  HasSubstr((root.path() / "hub").string()), Not(HasSubstr("did you mean"))));
  EXPECT_THAT(error("a/b/c"), HasSubstr("there is no model"));
  EXPECT_THAT(error("../home/models/folder"), HasSubstr("there is no model"));
  EXPECT_EQ(resolve_model(roots, "").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(resolve_model(roots, std::string_view("a\0b", 3)).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(resolve_model({}, "zzz").status().code(), Code::kNotFound);
}

TEST_F(StoreTest, ListsModelsWithFormatAndSize) {
  root.write("home/models/many/a.gguf", "GGUF");
  root.write("home/models/many/b.gguf", "GGUF");
  root.write("home/models/empty/notes.txt", "x");
  std::vector<std::string> lines;
  for (const StoredModel& model : list_models(roots)) {
    lines.push_back(model.name + " " + model.format + " " + std::to_string(model.bytes) +
                    (model.place == ModelPlace::kHubCache ? " hub" : ""));
  }
  EXPECT_THAT(lines, ElementsAre("folder safetensors 5", "many incomplete 0", "single gguf 4",
                                 "smollm2-135m-instruct gguf 10", "org/name safetensors 7 hub",
                                 "org/quants--GGUF gguf 9 hub"));
  EXPECT_THAT(list_models({}), IsEmpty());
}

TEST(NearNames, RanksByDistanceAndIgnoresCase) {
  const std::vector<std::string> names = {"Llama-3", "llama-2", "qwen", "llama-3-instruct", "lama-3"};
  EXPECT_THAT(near_names("LLAMA-3", names), ElementsAre("Llama-3", "lama-3", "llama-2"));
  EXPECT_THAT(near_names("qwem", names), ElementsAre("qwen"));
  EXPECT_THAT(near_names("", names), IsEmpty());
  EXPECT_THAT(near_names(std::string(100'000, 'a'), names), IsEmpty());
  EXPECT_THAT(near_names("x", names), IsEmpty());
}

}  // namespace
}  // namespace skua
