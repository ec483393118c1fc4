// Stands in for libFuzzer in the ordinary build: runs a fuzz target over its seed corpus, then over mutations
// of it from a fixed seed (cuts, flipped bits, overwritten and repeated ranges), so that every test run tries
// some thousands of bad inputs without clang.
//
// usage: NAME CORPUS_DIR N_MUTATIONS
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

std::vector<Bytes> read_corpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

/// Runs the target on a heap copy of exactly this size, so that AddressSanitizer sees a read past the end.
void run(const Bytes& input) {
  const Bytes copy(input.begin(), input.end());
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

void mutate(Bytes& input, std::mt19937_64& random) {
  const auto below = [&](size_t n) { return n == 0 ? size_t{0} : static_cast<size_t>(random() % n); };
  const size_t at = below(input.size());
  switch (random() % 5) {
    case 0:
      input.resize(at);
      break;
    case 1:
      if (!input.empty()) input[at] ^= static_cast<uint8_t>(1u << below(8));
      break;
    case 2: {  // extreme values where a length or an offset may stand
      static constexpr uint8_t kFill[] = {0x00, 0x7F, 0x80, 0xFF};
      const size_t n = std::min(input.size() - at, size_t{1} << below(4));
      std::fill_n(input.begin() + static_cast<ptrdiff_t>(at), n, kFill[below(4)]);
      break;
    }
    case 3: {
      const Bytes piece(
          input.begin() + static_cast<ptrdiff_t>(at),
          input.begin() + static_cast<ptrdiff_t>(at + below(std::min<size_t>(input.size() - at, 64))));
      input.insert(input.begin() + static_cast<ptrdiff_t>(at), piece.begin(), piece.end());
      break;
    }
    default:
      if (!input.empty()) input[at] = static_cast<uint8_t>(random());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s CORPUS_DIR N_MUTATIONS\n", argv[0]);
    return 2;
  }
  const std::vector<Bytes> corpus = read_corpus(argv[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: the corpus %s is empty\n", argv[0], argv[1]);
    return 1;
  }
  for (const Bytes& input : corpus) run(input);
  const long n_mutations = std::atol(argv[2]);
  std::mt19937_64 random(1);
  for (long i = 0; i < n_mutations; ++i) {
    Bytes input = corpus[static_cast<size_t>(i) % corpus.size()];
    for (uint64_t n = 1 + random() % 4; n > 0; --n) mutate(input, random);
    run(input);
  }
  std::printf("%zu seeds and %ld mutations ran\n", corpus.size(), n_mutations);
  return 0;
}
