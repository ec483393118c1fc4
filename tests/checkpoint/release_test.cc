// Peak memory: pages of weights that were read leave the process once they are released.
#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf_builder.h"
#include "checkpoint/safetensors_builder.h"
#include "checkpoint/temp_folder.h"

namespace skua {
namespace {

constexpr int64_t kRows = 8192, kCols = 4096;  // 64 MB of bf16; the files are sparse and take no room on disk
constexpr uint64_t kMegabyte = 1 << 20;

/// File pages that this process holds, in bytes.
uint64_t mapped_bytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("RssFile:")) return std::stoull(line.substr(8)) * 1024;
  }
  ADD_FAILURE() << "no RssFile in /proc/self/status";
  return 0;
}

/// Reads rows [begin, end) as a loader would.
float read_rows(const EncodedMatrix& m, int64_t begin, int64_t end) {
  std::vector<float> row(static_cast<size_t>(m.cols));
  float sum = 0;
  for (int64_t r = begin; r < end; ++r) {
    decode_row(m, r, 0, m.cols, row.data());
    sum += row[0];
  }
  return sum;
}

/// Makes room for `n` bytes behind the file's end without writing them.
void extend(const std::filesystem::path& path, uint64_t n) {
  std::filesystem::resize_file(path, std::filesystem::file_size(path) + n);
}

void expect_pages_come_and_go(const Checkpoint& c) {
  const auto m = c.matrix("w.weight");
  ASSERT_TRUE(m.ok()) << m.status().message();
  ASSERT_EQ(m->rows, kRows);
  const uint64_t before = mapped_bytes();
  EXPECT_EQ(read_rows(*m, 0, kRows), 0);
  EXPECT_GT(mapped_bytes(), before + c.find("w.weight")->bytes / 2);
  c.release("w.weight");
  EXPECT_LT(mapped_bytes(), before + kMegabyte);

  uint64_t peak = 0;  // released while it is read, a tensor never lies in memory as a whole
  for (int64_t row = 0; row < kRows; row += 256) {
    read_rows(*m, row, row + 256);
    peak = std::max(peak, mapped_bytes());
    c.release_rows("w.weight", row, 256);
  }
  EXPECT_LT(peak, before + 8 * kMegabyte);  // of 64: 256 rows and what the system reads ahead
  EXPECT_LT(mapped_bytes(), before + kMegabyte);
}

TEST(Release, PagesOfPlainSafetensorsLeaveTheProcess) {
  const TempFolder folder;
  folder.write("config.json", "{}");
  const uint64_t bytes = kRows * kCols * 2;
  const auto path =
      folder.write("model.safetensors",
                   raw_safetensors(R"({"w.weight":{"dtype":"BF16","shape":[8192,4096],"data_offsets":[0,)" +
                                   std::to_string(bytes) + "]}}"));
  extend(path, bytes);
  const auto c = open_checkpoint(folder.path());
  ASSERT_TRUE(c.ok()) << c.status().message();
  expect_pages_come_and_go(**c);
}

TEST(Release, PagesOfAllPlanesOfATripleLeaveTheProcess) {
  const TempFolder folder;
  folder.write("config.json", R"({"quantization": {"group_size": 32, "bits": 8}})");
  const uint64_t codes = kRows * kCols, scales = kRows * kCols / 32 * 4, end = codes + 2 * scales;
  const auto offsets = [](uint64_t from, uint64_t to) {
    return "\"data_offsets\":[" + std::to_string(from) + "," + std::to_string(to) + "]}";
  };
  const auto path = folder.write(
      "model.safetensors",
      raw_safetensors(R"({"w.weight":{"dtype":"U32","shape":[8192,1024],)" + offsets(0, codes) +
                      R"(,"w.scales":{"dtype":"F32","shape":[8192,128],)" + offsets(codes, codes + scales) +
                      R"(,"w.biases":{"dtype":"F32","shape":[8192,128],)" + offsets(codes + scales, end) +
                      "}"));
  extend(path, end);
  const auto c = open_checkpoint(folder.path());
  ASSERT_TRUE(c.ok()) << c.status().message();
  expect_pages_come_and_go(**c);
}

TEST(Release, PagesOfGgufLeaveTheProcess) {
  const TempFolder folder;
  GgufBuilder b;
  b.info("w.weight", {kCols, kRows}, 30, 0).data("x");
  std::string file = b.build();
  file.pop_back();
  const auto path = folder.write("model.gguf", file);
  extend(path, kRows * kCols * 2);
  const auto c = open_checkpoint(path);
  ASSERT_TRUE(c.ok()) << c.status().message();
  expect_pages_come_and_go(**c);
}

}  // namespace
}  // namespace skua
