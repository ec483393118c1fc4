// The same experts stored in the ways in which checkpoints keep them give the same bytes: one tensor per
// expert, stacked as MLX does, stacked with gate and up in one tensor.
#include <gtest/gtest.h>

#include <regex>

#include "backend/cpu/cpu_backend.h"
#include "engine/hand_runner.h"

namespace skua::test {
namespace {

/// How the experts of one layer are stored; names below the layer's block.
struct Layout {
  std::string name;
  std::string gate, up, down;  // `gate` alone holds gate and up if `up` is empty
  std::string bias;            // of the choice; empty = as it is
};

/// The stored rows of one tensor, plane by plane.
using Planes = std::vector<std::vector<std::byte>>;

Planes planes_of(const EncodedMatrix& m) {
  Planes out;
  for (size_t p = 0; p < 3; ++p) {
    if (m.planes[p] == nullptr) break;
    const uint64_t bytes = static_cast<uint64_t>(m.rows) * m.row_stride_bytes[p];
    out.emplace_back(m.planes[p], m.planes[p] + bytes);
  }
  return out;
}

void append(Planes& to, const Planes& from) {
  to.resize(from.size());
  for (size_t p = 0; p < from.size(); ++p) to[p].insert(to[p].end(), from[p].begin(), from[p].end());
}

void add(MemoryCheckpoint& to, const std::string& name, std::vector<int64_t> shape, const Format& format,
         const Planes& planes) {
  std::vector<std::byte> bytes;
  for (const auto& plane : planes) bytes.insert(bytes.end(), plane.begin(), plane.end());
  const Status status = to.add_tensor(name, std::move(shape), format, std::move(bytes));
  ASSERT_TRUE(status.ok()) << status.message();
}

/// Adds the experts of the block `prefix` to `to` as `layout` says. names: of gate, up and down in `from`.
void add_stacked(const Checkpoint& from, MemoryCheckpoint& to, const std::string& prefix,
                 const Layout& layout, const std::vector<std::string>& names) {
  Planes stacked[3], gate_up;
  int64_t n = 0, rows[3] = {}, cols[3] = {};
  Format format;
  for (; from.find(prefix + ".experts." + std::to_string(n) + "." + names[0] + ".weight") != nullptr; ++n) {
    for (size_t i = 0; i < 3; ++i) {
      const auto m = from.matrix(prefix + ".experts." + std::to_string(n) + "." + names[i] + ".weight");
      ASSERT_TRUE(m.ok()) << m.status().message();
      rows[i] = m->rows, cols[i] = m->cols, format = m->format;
      append(stacked[i], planes_of(*m));
      if (i < 2) append(gate_up, planes_of(*m));
    }
  }
  if (layout.up.empty()) {
    add(to, prefix + "." + layout.gate, {n, 2 * rows[0], cols[0]}, format, gate_up);
  } else {
    add(to, prefix + "." + layout.gate, {n, rows[0], cols[0]}, format, stacked[0]);
    add(to, prefix + "." + layout.up, {n, rows[1], cols[1]}, format, stacked[1]);
  }
  add(to, prefix + "." + layout.down, {n, rows[2], cols[2]}, format, stacked[2]);
}

/// The checkpoint with its experts stored as `layout` says.
std::unique_ptr<MemoryCheckpoint> stored_as(const Checkpoint& from, const Layout& layout) {
  auto out = std::make_unique<MemoryCheckpoint>("stored as " + layout.name);
  out->set_config(from.config());
  static const std::regex single(R"((.*)\.experts\.(\d+)\.(\w+)\.weight)");
  static const std::regex bias(R"((.*)\.(gate\.)?e_score_correction_bias)");
  for (const TensorEntry& entry : from.tensors()) {
    std::smatch match;
    const std::string name(entry.name);
    if (std::regex_match(name, match, single)) {
      if (match[2] != "0" || (match[3] != "down_proj" && match[3] != "w2")) continue;
      const bool numbered = match[3] == "w2";
      add_stacked(from, *out, match[1], layout,
                  numbered ? std::vector<std::string>{"w1", "w3", "w2"}
                           : std::vector<std::string>{"gate_proj", "up_proj", "down_proj"});
      continue;
    }
    const EncodedMatrix m = must(from.matrix(name));
    const bool renamed = !layout.bias.empty() && std::regex_match(name, match, bias);
    add(*out, renamed ? match[1].str() + "." + layout.bias : name, entry.shape, m.format, planes_of(m));
  }
  return out;
}

Rows logits_of(const Checkpoint& checkpoint) {
  HandRunner hand(checkpoint, must(make_cpu_backend({.n_threads = 1})),
                  {.context = 128, .max_tokens = 128, .max_seqs = 1, .fusion = Fusion::kOn});
  HandSeq seq = hand.new_seq();
  return hand.step({{&seq, random_ids(3, 40, hand.n_vocab())}});
}

class ExpertLayouts : public testing::TestWithParam<std::string> {};

TEST_P(ExpertLayouts, GiveTheSameBytes) {
  const std::string family = GetParam();
  const Layout layouts[] = {
      {"MLX's", "switch_mlp.gate_proj.weight", "switch_mlp.up_proj.weight", "switch_mlp.down_proj.weight",
       family == "exaone_moe" ? "gate.e_score_correction_bias" : ""},
      {"MLX's under their own name", "experts.gate_proj.weight", "experts.up_proj.weight",
       "experts.down_proj.weight", ""},
      {"transformers'", family == "granitemoe" ? "input_linear.weight" : "experts.gate_up_proj", "",
       family == "granitemoe" ? "output_linear.weight" : "experts.down_proj", ""},
  };
  for (const FamilyModel& model : family_models()) {
    if (model.family != family) continue;
    const auto single = make_checkpoint(model);
    const Rows expected = logits_of(*single);
    for (const Layout& layout : layouts) {
      EXPECT_EQ(first_different_row(expected, logits_of(*stored_as(*single, layout))), -1)
          << model.name << ", " << layout.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, ExpertLayouts,
                         testing::Values("mixtral", "qwen3_moe", "granitemoe", "minimax_m2", "dots1",
                                         "exaone_moe", "olmoe", "solar_open"),
                         [](const testing::TestParamInfo<std::string>& param) { return param.param; });

TEST(GuessingLayers, MayBeInTheCheckpointIfTheConfigCountsThem) {
  for (const FamilyModel& model : family_models()) {
    if (model.family != "glm4_moe" && model.family != "deepseek_v3") continue;
    const auto checkpoint = make_checkpoint(model);
    const std::vector<float> row(8, 1.0f);
    ASSERT_TRUE(checkpoint->add_values("model.layers.2.eh_proj.weight", {1, 8}, DType::kF32, row).ok());
    const auto backend = must(make_cpu_backend({.n_threads = 1}));
    const auto refused = load_model(*checkpoint, *backend, ConfigPolicy::kStrict, nullptr);
    ASSERT_FALSE(refused.ok()) << model.name;
    EXPECT_NE(refused.status().message().find("model.layers.2.eh_proj"), std::string::npos);
    Json config = checkpoint->config();
    config.set("num_nextn_predict_layers", Json(1));
    checkpoint->set_config(std::move(config));
    const auto loaded = load_model(*checkpoint, *backend, ConfigPolicy::kStrict, nullptr);
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  }
}

}  // namespace
}  // namespace skua::test
