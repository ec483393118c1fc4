// GPT-OSS with MXFP4 experts as it is published: gate and up rows in turn in one tensor (transformers), or
// decoded to bf16 in transformers' transposed order, give the bytes of MLX's tensors, which the tiny model
// has.
#include <gtest/gtest.h>

#include "backend/cpu/cpu_backend.h"
#include "engine/hand_runner.h"

namespace skua::test {
namespace {

constexpr int64_t kExperts = 5, kWidth = 64, kHidden = 32;  // of the tiny model

FamilyModel tiny_model() {
  for (FamilyModel& model : family_models())
    if (model.name == "gpt_oss_mxfp4") return model;
  check_failed(__FILE__, __LINE__, "family_models()", "no gpt_oss_mxfp4");
}

/// One of an expert's matrices, its rows as f32 or its stored bytes.
struct Experts {
  EncodedMatrix m;
  int64_t rows;  // of one expert

  std::vector<float> row(int64_t expert, int64_t r) const {
    std::vector<float> out(static_cast<size_t>(m.cols));
    decode_row(m, expert * rows + r, 0, m.cols, out.data());
    return out;
  }
};

void put(MemoryCheckpoint& to, const std::string& name, std::vector<int64_t> shape, const Format& format,
         std::vector<std::byte> bytes) {
  const Status status = to.add_tensor(name, std::move(shape), format, std::move(bytes));
  if (!status.ok()) check_failed(__FILE__, __LINE__, "add_tensor", status.message());
}

/// Rows of all experts, of the parts in turn, plane by plane.
std::vector<std::byte> in_turn(const std::vector<Experts>& parts) {
  std::vector<std::byte> out;
  for (int plane = 0; plane < 2; ++plane) {
    const uint64_t bytes = parts[0].m.row_stride_bytes[static_cast<size_t>(plane)];
    for (int64_t row = 0; row < kExperts * parts[0].rows; ++row) {
      for (const Experts& part : parts) {
        const std::byte* from = part.m.row_plane(plane, row);
        out.insert(out.end(), from, from + bytes);
      }
    }
  }
  return out;
}

/// Decoded: [experts, columns, rows of the parts in turn].
std::vector<float> transposed(const std::vector<Experts>& parts) {
  std::vector<float> out;
  for (int64_t e = 0; e < kExperts; ++e) {
    for (int64_t c = 0; c < parts[0].m.cols; ++c) {
      for (int64_t r = 0; r < parts[0].rows; ++r)
        for (const Experts& part : parts) out.push_back(part.row(e, r)[static_cast<size_t>(c)]);
    }
  }
  return out;
}

enum class Layout { kTransformers, kDecoded };

std::unique_ptr<MemoryCheckpoint> stored_as(const Checkpoint& from, Layout layout) {
  auto out = std::make_unique<MemoryCheckpoint>("mxfp4");
  out->set_config(from.config());
  for (const TensorEntry& entry : from.tensors()) {
    if (entry.name.find(".experts.") != std::string::npos) continue;
    const EncodedMatrix m = must(from.matrix(entry.name));
    std::vector<std::byte> bytes;
    for (size_t p = 0; p < 3 && m.planes[p] != nullptr; ++p)
      bytes.insert(bytes.end(), m.planes[p],
                   m.planes[p] + static_cast<uint64_t>(m.rows) * m.row_stride_bytes[p]);
    put(*out, entry.name, entry.shape, m.format, std::move(bytes));
  }
  for (int layer = 0; layer < 3; ++layer) {
    const std::string p = "model.layers." + std::to_string(layer) + ".mlp.experts.";
    const auto experts = [&](const char* name, int64_t rows) {
      return Experts{must(from.matrix(p + name + ".weight")), rows};
    };
    const std::vector<Experts> gate_up{experts("gate_proj", kHidden), experts("up_proj", kHidden)};
    const std::vector<Experts> down{experts("down_proj", kWidth)};
    if (layout == Layout::kTransformers) {
      const Format mxfp4{FormatKind::kMxfp4};
      put(*out, p + "gate_up_proj_blocks", {kExperts, 2 * kHidden, kWidth}, mxfp4, in_turn(gate_up));
      put(*out, p + "down_proj_blocks", {kExperts, kWidth, kHidden}, mxfp4, in_turn(down));
    } else {
      SKUA_CHECK(out->add_values(p + "gate_up_proj", {kExperts, kWidth, 2 * kHidden}, DType::kBF16,
                                 transposed(gate_up))
                     .ok());
      SKUA_CHECK(
          out->add_values(p + "down_proj", {kExperts, kHidden, kWidth}, DType::kBF16, transposed(down)).ok());
    }
    std::vector<float> both;
    std::vector<float> gate(kExperts * kHidden), up(gate), last(kExperts * kWidth);
    decode_row(must(from.matrix(p + "gate_proj.bias")), 0, 0, kExperts * kHidden, gate.data());
    decode_row(must(from.matrix(p + "up_proj.bias")), 0, 0, kExperts * kHidden, up.data());
    decode_row(must(from.matrix(p + "down_proj.bias")), 0, 0, kExperts * kWidth, last.data());
    for (size_t i = 0; i < gate.size(); ++i) both.insert(both.end(), {gate[i], up[i]});
    SKUA_CHECK(out->add_values(p + "gate_up_proj_bias", {kExperts, 2 * kHidden}, DType::kF32, both).ok());
    SKUA_CHECK(out->add_values(p + "down_proj_bias", {kExperts, kWidth}, DType::kF32, last).ok());
  }
  return out;
}

Rows logits_of(const Checkpoint& checkpoint, CpuCompute compute = CpuCompute::kF32) {
  HandRunner hand(checkpoint, must(make_cpu_backend({.n_threads = 1, .compute = compute})),
                  {.context = 128, .max_tokens = 128, .max_seqs = 1, .fusion = Fusion::kOn});
  HandSeq seq = hand.new_seq();
  return hand.step({{&seq, random_ids(3, 70, hand.n_vocab())}});
}

TEST(Mxfp4Experts, LieInTurnInTransformersFiles) {
  const auto from = make_checkpoint(tiny_model());
  const auto in_turn = stored_as(*from, Layout::kTransformers);
  for (const CpuCompute compute : {CpuCompute::kF32, CpuCompute::kNative})
    EXPECT_EQ(first_different_row(logits_of(*from, compute), logits_of(*in_turn, compute)), -1);
}

TEST(Mxfp4Experts, AreTheNumbersThatTheirDecodedTensorHolds) {
  const auto from = make_checkpoint(tiny_model());
  EXPECT_EQ(first_different_row(logits_of(*from), logits_of(*stored_as(*from, Layout::kDecoded))), -1);
}

}  // namespace
}  // namespace skua::test
