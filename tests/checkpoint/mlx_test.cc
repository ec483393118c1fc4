// MLX affine checkpoints: triples, settings and overrides, and every contradiction between them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors_builder.h"
#include "checkpoint/safetensors_table.h"
#include "tensor/affine_judge.h"

namespace skua {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// Opens tensors under a config.
struct Opened {
  std::string file;
  std::vector<std::string> notes;
  Result<TensorTable> table = TensorTable();

  Opened(const SafetensorsBuilder& builder, std::string_view config) : file(builder.build()) {
    const auto tensors = parse_safetensors(as_byte_span(file));
    const auto json = parse_json(config);
    SKUA_CHECK(tensors.ok() && json.ok());
    table = make_safetensors_table(*tensors, *json, notes);
  }
  std::string error() const { return table.ok() ? "" : table.status().message(); }
  std::string type(const char* name) const {
    if (!table.ok()) return table.status().message();
    for (const TensorEntry& entry : table->entries()) {
      if (entry.name == name) return entry.stored_type + " " + shape_text(entry.shape);
    }
    return "absent";
  }
};

/// Adds the triple of a [rows, cols] weight.
void add_triple(SafetensorsBuilder& b, const std::string& module, std::vector<int64_t> lead, int64_t cols,
                int bits, int64_t group, const std::string& type = "BF16") {
  int64_t rows = 1;
  for (const int64_t dim : lead) rows *= dim;
  auto codes = lead, scales = lead;
  codes.push_back(cols * bits / 32);
  scales.push_back(cols / group);
  const size_t width = type == "F32" ? 4 : 2;
  b.filled(module + ".weight", "U32", codes, static_cast<size_t>(rows * cols * bits / 8), 1);
  b.filled(module + ".scales", type, scales, static_cast<size_t>(rows * cols / group) * width, 2);
  b.filled(module + ".biases", type, scales, static_cast<size_t>(rows * cols / group) * width, 3);
}

// A checkpoint that mlx wrote (tools/fixtures/mlx_checkpoint.py), against what mlx dequantizes from it.
TEST(Mlx, ACheckpointOfMlxDecodesToWhatMlxSays) {
  const std::string folder = SKUA_TEST_DATA "/checkpoint/data/mlx";
  const auto c = open_checkpoint(folder);
  ASSERT_TRUE(c.ok()) << c.status().message();
  const auto expected = SafetensorsFile::open(folder + "/expected.safetensors");
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  ASSERT_EQ(expected->tensors().size(), 4u);
  EXPECT_EQ((*c)->tensors().size(), 5u);
  int compared = 0;
  for (const SafetensorsTensor& tensor : expected->tensors()) {
    const auto m = (*c)->matrix(tensor.name);
    ASSERT_TRUE(m.ok()) << m.status().message();
    EXPECT_EQ((*c)->find(tensor.name)->shape, tensor.shape);
    compared += expect_equals_mlx(*m, expected->read_f32(tensor.name).value(), tensor.name);
  }
  EXPECT_EQ(compared, 6 * 128 + 4 * 96 + 2 * 3 * 64 + 4 * 128);
  EXPECT_EQ((*c)->find("model.layers.0.mlp.switch_mlp.up_proj.weight")->stored_type, "affine6g32:f16");
}

constexpr const char* kFourBits = R"({"quantization": {"group_size": 64, "bits": 4}})";

TEST(Mlx, JoinsEveryWidthGroupAndScaleType) {
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    for (const int group : {32, 64, 128}) {
      for (const char* type : {"F32", "F16", "BF16"}) {
        SafetensorsBuilder b;
        add_triple(b, "model.layers.0.mlp.up_proj", {3}, 256, bits, group, type);
        const Opened o(b, R"({"quantization": {"group_size": )" + std::to_string(group) + R"(, "bits": )" +
                              std::to_string(bits) + "}}");
        const std::string lower = std::string(type) == "F32"   ? "f32"
                                  : std::string(type) == "F16" ? "f16"
                                                               : "bf16";
        EXPECT_EQ(o.type("model.layers.0.mlp.up_proj.weight"),
                  "affine" + std::to_string(bits) + "g" + std::to_string(group) + ":" + lower + " [3, 256]");
      }
    }
  }
}

TEST(Mlx, TriplesAppearOnceAndOthersStay) {
  SafetensorsBuilder b;
  add_triple(b, "head", {2}, 64, 4, 64);
  b.filled("head.bias", "BF16", {2}, 4)
      .filled("norm.weight", "BF16", {64}, 128)
      .filled("norm.scales", "F32", {1}, 4);
  const Opened o(b, kFourBits);
  ASSERT_EQ(o.error(), "");
  std::vector<std::string> names;
  for (const TensorEntry& entry : o.table->entries()) names.push_back(entry.name);
  EXPECT_THAT(names, ElementsAre("head.bias", "head.weight", "norm.scales", "norm.weight"));
  const TensorEntry& head = o.table->entries()[1];
  EXPECT_THAT(head.members, ElementsAre("head.weight", "head.scales", "head.biases"));
  EXPECT_EQ(head.bytes, 64u + 4 + 4);
  const auto m = o.table->matrix("head.weight", "here");
  ASSERT_TRUE(m.ok()) << m.status().message();
  EXPECT_EQ(m->planes[0][0], std::byte{1});
  EXPECT_EQ(m->planes[1][0], std::byte{2});
  EXPECT_EQ(m->planes[2][0], std::byte{3});
}

// B046: overrides with other bits on stacked weights; (20, 512, 36) words are 192 columns of 6 bits.
TEST(Mlx, OverridesApplyPerModule) {
  SafetensorsBuilder b;
  add_triple(b, "model.layers.0.attn.kv", {20, 512}, 192, 6, 32);
  add_triple(b, "model.layers.0.attn.q", {4}, 192, 4, 32);
  b.filled("model.router.weight", "BF16", {2, 2}, 8);
  const Opened o(b, R"({"quantization": {"group_size": 32, "bits": 4, "mode": "affine",
      "model.layers.0.attn.kv": {"group_size": 32, "bits": 6}, "model.layers.0.attn.q": true, "model.router": false,
      "vision.tower": false}})");
  ASSERT_EQ(o.error(), "");
  EXPECT_EQ(o.type("model.layers.0.attn.kv.weight"), "affine6g32:bf16 [20, 512, 192]");
  EXPECT_EQ(o.type("model.layers.0.attn.q.weight"), "affine4g32:bf16 [4, 192]");
  EXPECT_EQ(o.type("model.router.weight"), "BF16 [2, 2]");
}

// B047: overrides keyed with another prefix apply if exactly one module fits, else they are errors.
TEST(Mlx, OverridesMatchThroughPrefixes) {
  const char* config = R"({"quantization": {"group_size": 64, "bits": 4,
      "model.layers.0.q": {"group_size": 32, "bits": 8}, "wrapper.head": {"group_size": 128, "bits": 2}}})";
  SafetensorsBuilder b;
  add_triple(b, "language_model.model.layers.0.q", {2}, 128, 8, 32);
  add_triple(b, "language_model.model.layers.10.q", {2}, 128, 4, 64);
  add_triple(b, "head", {2}, 128, 2, 128);
  const Opened o(b, config);
  EXPECT_EQ(o.type("language_model.model.layers.0.q.weight"), "affine8g32:bf16 [2, 128]");
  EXPECT_EQ(o.type("language_model.model.layers.10.q.weight"), "affine4g64:bf16 [2, 128]");
  EXPECT_EQ(o.type("head.weight"), "affine2g128:bf16 [2, 128]");
}

TEST(Mlx, OverridesThatFitNothingOrSeveralModulesAreErrors) {
  SafetensorsBuilder b;
  add_triple(b, "a.layers.0.q", {2}, 128, 4, 64);
  EXPECT_THAT(
      Opened(
          b,
          R"({"quantization": {"group_size": 64, "bits": 4, "layers.1.q": {"group_size": 32, "bits": 8}}})")
          .error(),
      AllOf(HasSubstr("layers.1.q"), HasSubstr("fits no tensor")));
  EXPECT_THAT(
      Opened(b,
             R"({"quantization": {"group_size": 64, "bits": 4, "ayers.0.q": {"group_size": 32, "bits": 8}}})")
          .error(),
      HasSubstr("fits no tensor"));
  add_triple(b, "b.layers.0.q", {2}, 128, 4, 64);
  EXPECT_THAT(
      Opened(
          b,
          R"({"quantization": {"group_size": 64, "bits": 4, "layers.0.q": {"group_size": 32, "bits": 8}}})")
          .error(),
      AllOf(HasSubstr("layers.0.q"), HasSubstr("fits 2 modules")));
}

// B049: contradictions name both sides. 4 bits in groups of 64 and 8 in groups of 32 have the same product.
TEST(Mlx, ContradictionsAreErrorsThatNameBothSides) {
  SafetensorsBuilder packed32;
  add_triple(packed32, "w", {2}, 128, 4, 32);
  EXPECT_THAT(
      Opened(packed32, kFourBits).error(),
      AllOf(HasSubstr("512 bits"), HasSubstr("4 groups of 64"), HasSubstr("4 bits, group 64 (quantization)"),
            HasSubstr("w.weight U32 [2, 16]"), HasSubstr("w.scales BF16 [2, 4]")));
  SafetensorsBuilder eight;
  add_triple(eight, "w", {2}, 128, 8, 64);
  EXPECT_THAT(Opened(eight, kFourBits).error(), HasSubstr("1024 bits"));
  EXPECT_THAT(
      Opened(eight, R"({"quantization": {"group_size": 64, "bits": 4, "w": {"group_size": 64, "bits": 2}}})")
          .error(),
      HasSubstr("quantization[\"w\"]"));
}

TEST(Mlx, ShapesOfATripleMustGoTogether) {
  const auto triple = [](std::vector<int64_t> codes, std::vector<int64_t> scales, std::vector<int64_t> biases,
                         const std::string& type = "F16", const std::string& bias_type = "F16") {
    const auto size = [](const std::vector<int64_t>& shape, const std::string& of) {
      size_t n = of == "F16" ? 2 : of == "U8" ? 1 : 4;
      for (const int64_t dim : shape) n *= static_cast<size_t>(dim);
      return n;
    };
    SafetensorsBuilder b;
    b.filled("w.weight", "U32", codes, size(codes, "U32"))
        .filled("w.scales", type, scales, size(scales, type));
    b.filled("w.biases", bias_type, biases, size(biases, bias_type));
    return Opened(b, kFourBits).error();
  };
  EXPECT_EQ(triple({2, 16}, {2, 2}, {2, 2}), "");
  EXPECT_NE(triple({2, 16}, {2, 2}, {2, 1}), "");
  EXPECT_NE(triple({2, 16}, {2, 2}, {4, 1}), "");  // the right number of bytes
  EXPECT_NE(triple({2, 16}, {1, 2}, {1, 2}), "");
  EXPECT_NE(triple({2, 16}, {4}, {4}), "");
  EXPECT_NE(triple({2, 15}, {2, 2}, {2, 2}), "");
  EXPECT_NE(triple({}, {}, {}), "");
  EXPECT_NE(triple({2, 16}, {2, 2}, {2, 2}, "F16", "F32"), "");
  EXPECT_NE(triple({2, 16}, {2, 2}, {2, 2}, "U8", "U8"), "");
  EXPECT_NE(triple({0, int64_t{1} << 61}, {0, int64_t{1} << 59}, {0, int64_t{1} << 59}), "");
  EXPECT_EQ(triple({0, 16}, {0, 2}, {0, 2}), "");
  EXPECT_EQ(triple({16}, {2}, {2}), "");
}

TEST(Mlx, QuantizedTensorsWithoutSettingsAreErrors) {
  SafetensorsBuilder b;
  add_triple(b, "w", {2}, 128, 4, 64);
  EXPECT_THAT(Opened(b, "{}").error(), AllOf(HasSubstr("w.weight"), HasSubstr("no \"quantization\"")));
  EXPECT_THAT(Opened(b, R"({"quantization": {"group_size": 64, "bits": 4, "w": false}})").error(),
              HasSubstr("says that it is not quantized"));
  SafetensorsBuilder plain;
  plain.filled("w.weight", "BF16", {2, 2}, 8);
  EXPECT_EQ(Opened(plain, kFourBits).error(), "");
  EXPECT_THAT(
      Opened(plain, R"({"quantization": {"group_size": 64, "bits": 4, "w": {"group_size": 32, "bits": 8}}})")
          .error(),
      HasSubstr("stored unquantized"));
  SafetensorsBuilder alone;
  alone.filled("w.weight", "U32", {2, 16}, 128);
  EXPECT_THAT(Opened(alone, kFourBits).error(), HasSubstr("there is no w.scales"));
}

TEST(Mlx, IncompleteAndUnknownSettingsAreErrors) {
  const SafetensorsBuilder b;
  for (const char* settings :
       {R"({"bits": 4})", R"({"group_size": 64})", R"({"bits": "4", "group_size": 64})",
        R"({"bits": 4.0, "group_size": 64})", "4", "[]", R"({"bits": 4, "group_size": 64, "w": {"bits": 8}})",
        R"({"bits": 4, "group_size": 64, "mode": 1})",
        R"({"bits": 4, "group_size": 64, "activations": "int8"})"}) {
    EXPECT_THAT(Opened(b, std::string(R"({"quantization": )") + settings + "}").error(),
                HasSubstr("config.json"))
        << settings;
  }
  EXPECT_EQ(Opened(b, R"({"quantization": null})").error(), "");
  EXPECT_EQ(Opened(b, R"({"quantization_config": null})").error(), "");
  SafetensorsBuilder triple;
  add_triple(triple, "w", {2}, 128, 4, 64);
  EXPECT_THAT(Opened(triple, R"({"quantization": {"group_size": 64, "bits": 7}})").error(),
              HasSubstr("7 bits"));
  EXPECT_THAT(Opened(triple, R"({"quantization": {"group_size": 16, "bits": 4}})").error(),
              HasSubstr("groups of 16"));
  EXPECT_THAT(Opened(triple, R"({"quantization": {"group_size": 4611686018427387904, "bits": 4}})").error(),
              HasSubstr("groups of"));
}

TEST(Mlx, BothSpellingsOfTheSettingsAreRead) {
  SafetensorsBuilder b;
  add_triple(b, "w", {2}, 128, 4, 64);
  const char* expected = "affine4g64:bf16 [2, 128]";
  EXPECT_EQ(Opened(b, R"({"quantization_config": {"group_size": 64, "bits": 4}})").type("w.weight"),
            expected);
  EXPECT_EQ(Opened(b, R"({"quantization": {"group_size": 64, "bits": 4},
                          "quantization_config": {"group_size": 64, "bits": 4}})")
                .type("w.weight"),
            expected);
  EXPECT_THAT(Opened(b, R"({"quantization": {"group_size": 64, "bits": 4},
                            "quantization_config": {"group_size": 32, "bits": 8}})")
                  .error(),
              HasSubstr("disagree"));
  const Opened other(
      b, R"({"quantization": {"group_size": 64, "bits": 4}, "quantization_config": {"quant_method": "x"}})");
  EXPECT_EQ(other.type("w.weight"), expected);
  EXPECT_THAT(other.notes, ElementsAre(HasSubstr("quant_method")));
}

constexpr const char* kMxfp4 = R"({"quantization": {"group_size": 32, "bits": 4, "mode": "mxfp4"}})";

TEST(Mlx, Mxfp4IsReadFromItsPair) {
  SafetensorsBuilder b;
  b.filled("w.weight", "U32", {2, 16}, 128, 0x52).filled("w.scales", "U8", {2, 4}, 8, 0x7F);
  const Opened o(b, kMxfp4);
  EXPECT_EQ(o.type("w.weight"), "mxfp4 [2, 128]");
  ASSERT_EQ(o.error(), "");
  EXPECT_THAT(o.table->entries()[0].members, ElementsAre("w.weight", "w.scales"));
  float out[2];
  decode_row(*o.table->matrix("w.weight", "here"), 1, 126, 2, out);
  EXPECT_EQ(out[0], 1.0f);  // code 2, scale 1
  EXPECT_EQ(out[1], 3.0f);  // code 5
}

TEST(Mlx, Mxfp4ThatContradictsItselfIsRefused) {
  const auto error = [](const std::string& scale_type, std::vector<int64_t> scales, bool biases,
                        const char* config) {
    SafetensorsBuilder b;
    int64_t n = scale_type == "U8" ? 1 : 2;
    for (const int64_t dim : scales) n *= dim;
    b.filled("w.weight", "U32", {2, 16}, 128).filled("w.scales", scale_type, scales, static_cast<size_t>(n));
    if (biases) b.filled("w.biases", scale_type, scales, static_cast<size_t>(n));
    return Opened(b, config).error();
  };
  EXPECT_THAT(error("BF16", {2, 4}, false, kMxfp4),
              AllOf(HasSubstr("w.scales BF16"), HasSubstr("U8 scales")));
  EXPECT_THAT(error("U8", {2, 4}, true, kMxfp4), AllOf(HasSubstr("w.biases"), HasSubstr("no biases")));
  EXPECT_THAT(error("U8", {2, 3}, false, kMxfp4), HasSubstr("3 groups of 32"));
  EXPECT_THAT(
      error("U8", {2, 4}, false, R"({"quantization": {"group_size": 64, "bits": 4, "mode": "mxfp4"}})"),
      HasSubstr("4 in groups of 32"));
  EXPECT_THAT(
      error("U8", {2, 4}, false, R"({"quantization": {"group_size": 32, "bits": 8, "mode": "mxfp8"}})"),
      HasSubstr("mxfp8"));
}

constexpr const char* kBlocks = R"({"quantization_config": {"quant_method": "mxfp4"}})";

TEST(Mlx, Mxfp4OfTransformersIsReadFromItsPair) {
  SafetensorsBuilder b;
  b.filled("m.experts.down_proj_blocks", "U8", {3, 5, 2, 16}, 480, 0x21)
      .filled("m.experts.down_proj_scales", "U8", {3, 5, 2}, 30, 0x7F)
      .filled("m.experts.down_proj_bias", "BF16", {3, 5}, 30);
  const Opened o(b, kBlocks);
  EXPECT_EQ(o.type("m.experts.down_proj_blocks"), "mxfp4 [3, 5, 64]");
  EXPECT_EQ(o.type("m.experts.down_proj_bias"), "BF16 [3, 5]");
  EXPECT_EQ(o.type("m.experts.down_proj_scales"), "absent");
  const Opened unsaid(b, "{}");  // without the config's word the codes are bytes, which are no weight
  ASSERT_EQ(unsaid.error(), "");
  EXPECT_FALSE(unsaid.table->matrix("m.experts.down_proj_blocks", "here").ok());
}

TEST(Mlx, Mxfp4BlocksWithoutFittingScalesAreRefused) {
  const auto error = [](std::vector<int64_t> blocks, std::vector<int64_t> scales, const char* name) {
    const auto size = [](const std::vector<int64_t>& shape) {
      size_t n = 1;
      for (const int64_t dim : shape) n *= static_cast<size_t>(dim);
      return n;
    };
    SafetensorsBuilder b;
    b.filled("w_blocks", "U8", blocks, size(blocks)).filled(name, "U8", scales, size(scales));
    return Opened(b, kBlocks).error();
  };
  EXPECT_EQ(error({3, 2, 16}, {3, 2}, "w_scales"), "");
  EXPECT_THAT(error({3, 2, 16}, {3, 2}, "v_scales"), HasSubstr("no scales"));
  EXPECT_THAT(error({3, 2, 16}, {2, 3}, "w_scales"), HasSubstr("w_scales U8 [2, 3]"));
  EXPECT_THAT(error({3, 2, 8}, {3, 2}, "w_scales"), HasSubstr("w_blocks U8 [3, 2, 8]"));
}

TEST(Mlx, OtherQuantizersAreRefusedByName) {
  SafetensorsBuilder plain;
  plain.filled("w.weight", "BF16", {2, 2}, 8);
  for (const char* method : {"fp8", "gptq", "awq", "compressed-tensors", "bitsandbytes", "modelopt"}) {
    const Opened o(plain, R"({"quantization_config": {"bits": 4, "group_size": 64, "quant_method": ")" +
                              std::string(method) + "\"}}");
    EXPECT_THAT(o.error(), HasSubstr(method));
    EXPECT_EQ(o.table.status().code(), Code::kUnsupported);
  }
  SafetensorsBuilder gptq;
  gptq.filled("w.qweight", "I32", {2, 2}, 16).filled("w.qzeros", "I32", {1}, 4);
  EXPECT_THAT(Opened(gptq, "{}").error(), AllOf(HasSubstr("w.qweight"), HasSubstr("GPTQ or AWQ")));
  SafetensorsBuilder block_float;
  block_float.filled("w.weight", "U32", {2, 16}, 128).filled("w.scales", "U8", {2, 4}, 8);
  const Opened blocks(block_float, R"({"quantization": {"group_size": 32, "bits": 4}})");
  EXPECT_THAT(blocks.error(), AllOf(HasSubstr("w.weight"), HasSubstr("block-float"), HasSubstr("mxfp4")));
  EXPECT_EQ(blocks.table.status().code(), Code::kUnsupported);
  SafetensorsBuilder triple;
  add_triple(triple, "w", {2}, 128, 4, 64);
  EXPECT_THAT(Opened(triple, R"({"quantization": {"group_size": 64, "bits": 4, "mode": "nvfp4"}})").error(),
              HasSubstr("nvfp4"));
}

}  // namespace
}  // namespace skua
