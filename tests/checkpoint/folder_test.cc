// Model folders: which files count, what the index may say, links, side files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/model_folder.h"
#include "checkpoint/safetensors_builder.h"
#include "checkpoint/temp_folder.h"

namespace skua {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::string f32(float value) { return {reinterpret_cast<const char*>(&value), sizeof(value)}; }

/// A file with one-element tensors.
std::string shard(std::initializer_list<std::pair<const char*, float>> tensors) {
  SafetensorsBuilder b;
  for (const auto& [name, value] : tensors) b.add(name, "F32", {1}, f32(value));
  return b.build();
}

std::string index_of(const std::string& weight_map) {
  return "{\"metadata\":{},\"weight_map\":" + weight_map + "}";
}

float value_of(const Checkpoint& c, const char* name) {
  const auto m = c.matrix(name);
  EXPECT_TRUE(m.ok()) << m.status().message();
  float out = -1;
  if (m.ok()) decode_row(*m, 0, 0, 1, &out);
  return out;
}

std::string error_of(const fs::path& path) {
  const auto c = open_checkpoint(path);
  return c.ok() ? "" : c.status().message();
}

class FolderTest : public testing::Test {
 protected:
  FolderTest() { folder.write("config.json", R"({"model_type": "made_up"})"); }
  TempFolder folder;
};

TEST_F(FolderTest, OpensASingleFile) {
  folder.write("model.safetensors", shard({{"a", 1}, {"b", 2}}));
  folder.write("tokenizer.json", "{}");
  const auto c = open_checkpoint(folder.path());
  ASSERT_TRUE(c.ok()) << c.status().message();
  EXPECT_EQ((*c)->kind(), CheckpointKind::kSafetensors);
  EXPECT_EQ((*c)->config().find("model_type")->as_string(), "made_up");
  EXPECT_EQ((*c)->tensors().size(), 2u);
  EXPECT_EQ(value_of(**c, "b"), 2);
  EXPECT_EQ((*c)->find("a")->stored_type, "F32");
  EXPECT_THAT((*c)->find("a")->members, ElementsAre("a"));
  EXPECT_EQ((*c)->side_file("tokenizer.json").value(), "{}");
  EXPECT_EQ((*c)->side_file("vocab.json").status().code(), Code::kNotFound);
  EXPECT_EQ((*c)->side_file("../etc/passwd").status().code(), Code::kInvalidArgument);
  EXPECT_TRUE((*c)->notes().empty());
  const auto file = open_checkpoint(folder.path() / "model.safetensors");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(value_of(**file, "a"), 1);
  EXPECT_EQ((*file)->config().find("model_type")->as_string(), "made_up");
}

// B043: the index decides tensor by tensor; stale copies in listed files and whole stale files do not count.
TEST_F(FolderTest, TheIndexDecidesTensorByTensor) {
  folder.write("model-00001-of-00002.safetensors", shard({{"a", 1}, {"b", -7}}));
  folder.write("model-00002-of-00002.safetensors", shard({{"b", 2}, {"c", 3}}));
  folder.write("model-00003-of-00003.safetensors", shard({{"a", -8}, {"d", -9}}));
  folder.write("model.safetensors", shard({{"a", -5}}));
  folder.write("model.safetensors.index.json",
               index_of(R"({"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors",
                            "c": "model-00002-of-00002.safetensors"})"));
  const auto c = open_checkpoint(folder.path());
  ASSERT_TRUE(c.ok()) << c.status().message();
  EXPECT_EQ((*c)->tensors().size(), 3u);
  EXPECT_EQ(value_of(**c, "a"), 1);
  EXPECT_EQ(value_of(**c, "b"), 2);
  EXPECT_EQ(value_of(**c, "c"), 3);
  EXPECT_THAT((*c)->notes(),
              ElementsAre(AllOf(HasSubstr("model-00001-of-00002"), HasSubstr("1 tensor "), HasSubstr("(b)")),
                          AllOf(HasSubstr("model-00003-of-00003"), HasSubstr("model.safetensors"))));
}

// B044, and the other ways in which index and files fall apart.
TEST_F(FolderTest, AStaleIndexIsAnErrorThatNamesTheFile) {
  folder.write("model-1.safetensors", shard({{"a", 1}}));
  folder.write("model.safetensors.index.json",
               index_of(R"({"a": "model-1.safetensors", "b": "model-2.safetensors"})"));
  EXPECT_THAT(error_of(folder.path()),
              AllOf(HasSubstr("model-2.safetensors is missing"), HasSubstr("1 tensor ")));
  folder.write("model-2.safetensors", shard({{"c", 1}}));
  EXPECT_THAT(error_of(folder.path()),
              AllOf(HasSubstr("model-2.safetensors lacks b"), HasSubstr("fetch them again")));
  folder.write("model-2.safetensors", shard({{"b", 1}}).substr(0, 20));
  EXPECT_THAT(error_of(folder.path()), AllOf(HasSubstr("model-2.safetensors"), HasSubstr("cut short")));
  folder.write("model-2.safetensors", shard({{"b", 1}}));
  EXPECT_EQ(error_of(folder.path()), "");
}

TEST_F(FolderTest, RefusesBrokenIndexes) {
  folder.write("model-1.safetensors", shard({{"a", 1}}));
  for (const char* text :
       {"", "[]", "{}", R"({"weight_map": []})", R"({"weight_map": {}})", R"({"weight_map": {"a": 1}})",
        R"({"weight_map": {"a": "model-1.safetensors", "a": "model-1.safetensors"}})"}) {
    folder.write("model.safetensors.index.json", text);
    EXPECT_THAT(error_of(folder.path()), HasSubstr("model.safetensors.index.json")) << text;
  }
}

// B059: shard names stay in the folder.
TEST_F(FolderTest, RefusesShardNamesThatLeaveTheFolder) {
  const TempFolder other;
  other.write("x.safetensors", shard({{"a", 1}}));
  folder.write("sub/x.safetensors", shard({{"a", 1}}));
  for (const std::string& name :
       {"../" + other.path().filename().string() + "/x.safetensors", other.path().string() + "/x.safetensors",
        std::string("sub/x.safetensors"), std::string("./x.safetensors"), std::string(".."), std::string("."),
        std::string(""), std::string("sub\\\\x.safetensors"), std::string("x\\u0000.safetensors")}) {
    folder.write("model.safetensors.index.json", index_of("{\"a\": \"" + name + "\"}"));
    const auto c = open_checkpoint(folder.path());
    ASSERT_FALSE(c.ok()) << name;
    EXPECT_EQ(c.status().code(), Code::kInvalidArgument) << name;
    EXPECT_THAT(c.status().message(), HasSubstr("no plain file name")) << name;
  }
}

TEST_F(FolderTest, RefusesLinksThatLeadOutOfTheFolder) {
  const TempFolder other;
  const auto target = other.write("x.safetensors", shard({{"a", 1}}));
  fs::create_symlink(target, folder.path() / "model.safetensors");
  EXPECT_THAT(error_of(folder.path()),
              AllOf(HasSubstr("is a link to"), HasSubstr("outside the model's folder")));
  fs::remove(folder.path() / "model.safetensors");
  folder.write("real/x.safetensors", shard({{"a", 1}}));
  fs::create_symlink("real/x.safetensors", folder.path() / "model.safetensors");
  EXPECT_EQ(error_of(folder.path()), "");
  fs::remove(folder.path() / "config.json");
  fs::create_symlink(other.write("config.json", "{}"), folder.path() / "config.json");
  EXPECT_THAT(error_of(folder.path()), AllOf(HasSubstr("config.json"), HasSubstr("outside")));
}

TEST(HubCacheFolder, LinksIntoTheBlobsOfTheSameRepositoryAreFollowed) {
  const TempFolder root;
  const std::string repo = "models--org--name/";
  root.write(repo + "blobs/0001", "{}");
  root.write(repo + "blobs/0002", shard({{"a", 4}}));
  root.write("models--org--other/blobs/0003", shard({{"a", 5}}));
  const fs::path snapshot = root.path() / (repo + "snapshots/abc");
  fs::create_directories(snapshot);
  fs::create_symlink("../../blobs/0001", snapshot / "config.json");
  fs::create_symlink("../../blobs/0002", snapshot / "model.safetensors");
  const auto c = open_checkpoint(snapshot);
  ASSERT_TRUE(c.ok()) << c.status().message();
  EXPECT_EQ(value_of(**c, "a"), 4);
  fs::remove(snapshot / "model.safetensors");
  fs::create_symlink("../../../models--org--other/blobs/0003", snapshot / "model.safetensors");
  EXPECT_THAT(error_of(snapshot), HasSubstr("outside the model's folder"));
}

TEST_F(FolderTest, WithoutAnIndexOnlyACompleteSetOfShardsCounts) {
  folder.write("model-00001-of-00002.safetensors", shard({{"a", 1}}));
  EXPECT_THAT(error_of(folder.path()),
              AllOf(HasSubstr("has 1 of the shards"), HasSubstr("fetch the missing files")));
  folder.write("model-00002-of-00002.safetensors", shard({{"b", 2}}));
  folder.write("adapter.safetensors", shard({{"a", -1}}));
  const auto c = open_checkpoint(folder.path());
  ASSERT_TRUE(c.ok()) << c.status().message();
  EXPECT_EQ(value_of(**c, "b"), 2);
  EXPECT_THAT((*c)->notes(), ElementsAre(HasSubstr("adapter.safetensors")));
  folder.write("model-00002-of-00002.safetensors", shard({{"a", 2}}));
  EXPECT_THAT(error_of(folder.path()), HasSubstr("a appears twice"));
}

TEST_F(FolderTest, SaysWhatIsMissing) {
  EXPECT_THAT(error_of(folder.path() / "nothing"), HasSubstr("does not exist"));
  EXPECT_THAT(error_of(folder.path()), HasSubstr("holds no .safetensors file"));
  folder.write("one.safetensors", shard({{"a", 1}}));
  EXPECT_EQ(error_of(folder.path()), "");
  folder.write("two.safetensors", shard({{"a", 1}}));
  EXPECT_THAT(error_of(folder.path()), HasSubstr("name the one file to load"));
  fs::remove(folder.path() / "config.json");
  EXPECT_THAT(error_of(folder.path()), HasSubstr("config.json"));
  EXPECT_THAT(error_of(folder.path() / "one.safetensors"), HasSubstr("config.json"));
  folder.write("config.json", "{\"a\":");
  EXPECT_THAT(error_of(folder.path()), HasSubstr("config.json"));
}

TEST_F(FolderTest, ReadsTheInfinitiesThatPythonWrites) {
  folder.write("a.json",
               R"({"limit": [0.0, Infinity], "low": -Infinity, "odd": NaN, "text": "Infinity \"NaN\" "})");
  const auto json = read_json_in_folder(folder.path(), "a.json");
  ASSERT_TRUE(json.ok()) << json.status().message();
  EXPECT_EQ(json->dump(), R"({"limit":[0.0,{"__float__":"Infinity"}],"low":{"__float__":"-Infinity"},)"
                          R"("odd":{"__float__":"NaN"},"text":"Infinity \"NaN\" "})");
  folder.write("b.json", "{\"limit\": Infinit}");
  EXPECT_FALSE(read_json_in_folder(folder.path(), "b.json").ok());
}

TEST_F(FolderTest, PipesAndFoldersInPlaceOfFilesAreRefusedAtOnce) {
  ASSERT_EQ(::mkfifo((folder.path() / "model.safetensors").c_str(), 0600), 0);
  EXPECT_THAT(error_of(folder.path()), HasSubstr("no regular file"));
  EXPECT_THAT(error_of(folder.path() / "model.safetensors"),
              HasSubstr("neither a folder nor a regular file"));
  fs::remove(folder.path() / "model.safetensors");
  fs::create_directory(folder.path() / "model.safetensors");
  EXPECT_THAT(error_of(folder.path()), HasSubstr("no regular file"));
}

TEST_F(FolderTest, TypesThatAreNoWeightsAreListedAndRefusedByName) {
  SafetensorsBuilder b;
  b.filled("ids", "I64", {2}, 16).filled("f8", "F8_E4M3", {4}, 4).add("w", "F32", {1}, f32(1));
  folder.write("model.safetensors", b.build());
  const auto c = open_checkpoint(folder.path());
  ASSERT_TRUE(c.ok()) << c.status().message();
  EXPECT_EQ((*c)->tensors().size(), 3u);
  EXPECT_THAT((*c)->matrix("f8").status().message(), AllOf(HasSubstr("tensor f8"), HasSubstr("F8_E4M3")));
  EXPECT_EQ((*c)->matrix("f8").status().code(), Code::kUnsupported);
  EXPECT_EQ((*c)->matrix("ids").status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace skua
