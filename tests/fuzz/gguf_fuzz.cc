// A GGUF file from outside: parsing never crashes, every array and tensor that is accepted lies inside the
// input, the vocabulary can be read, and every weight matrix can be decoded from end to end.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "checkpoint/gguf.h"
#include "fuzz/decode_all.h"

namespace {

void check_inside(std::span<const std::byte> part, std::span<const std::byte> file) {
  if (part.empty()) return;
  if (part.data() < file.data() || part.data() + part.size() > file.data() + file.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  const auto header = skua::parse_gguf(file);
  if (!header.ok()) return 0;
  header->metadata.dump();
  for (const auto& [key, array] : header->arrays) {
    check_inside(array.bytes, file);
    if (const auto texts = skua::gguf_strings(array); texts.ok() && texts->size() != array.count)
      std::abort();
    if (const auto numbers = skua::gguf_floats(array); numbers.ok() && numbers->size() != array.count)
      std::abort();
    if (const auto numbers = skua::gguf_ints(array); numbers.ok() && numbers->size() != array.count)
      std::abort();
  }
  const auto vocabulary = skua::gguf_vocabulary(*header);
  if (vocabulary.ok() && vocabulary->tokens.empty()) std::abort();
  skua::TensorTable table;
  for (const skua::GgufTensor& tensor : header->tensors) {
    check_inside(tensor.bytes, file);
    skua::StoredTensor stored;
    stored.entry.name = tensor.name;
    stored.entry.shape = tensor.shape;
    stored.format = tensor.format;
    stored.planes[0] = tensor.bytes;
    if (!table.add(std::move(stored)).ok()) std::abort();  // it counts the bytes in its own way
  }
  if (table.finish().ok()) skua::decode_all(table);
  return 0;
}
