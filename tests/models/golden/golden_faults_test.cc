// golden_check must miss when the model is wrong in any way that a config or a weight can be wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "backend/cpu/cpu_backend.h"
#include "backend/ref/ref_backend.h"
#include "golden_check/golden_run.h"
#include "golden_check/report.h"

namespace skua::golden {
namespace {

Case read(const std::string& name) {
  auto out = read_case(std::string(SKUA_TEST_DATA) + "/models/golden/" + name);
  EXPECT_TRUE(out.ok()) << out.status().message();
  return std::move(out).value();
}

/// A fault: changes the case, never the reference's answers.
struct Fault {
  const char* what;
  const char* golden_case;
  std::function<void(Case&)> plant;
};

void set(Case& c, const char* key, Json value) {
  Json config = c.checkpoint->config();
  config.set(key, std::move(value));
  c.checkpoint->set_config(std::move(config));
}

void set_rope(Case& c, const char* key, Json value) {
  Json rope = *c.checkpoint->config().find("rope_parameters");
  rope.set(key, std::move(value));
  set(c, "rope_parameters", std::move(rope));
}

/// The same checkpoint with one tensor's values changed.
void change_tensor(Case& c, const std::string& name, const std::function<void(std::vector<float>&)>& change) {
  auto changed = std::make_unique<MemoryCheckpoint>("changed");
  changed->set_config(c.checkpoint->config());
  bool found = false;
  for (const TensorEntry& entry : c.checkpoint->tensors()) {
    const EncodedMatrix matrix = *c.checkpoint->matrix(entry.name);
    std::vector<float> values(static_cast<size_t>(matrix.rows * matrix.cols));
    for (int64_t row = 0; row < matrix.rows; ++row)
      decode_row(matrix, row, 0, matrix.cols, &values[static_cast<size_t>(row * matrix.cols)]);
    if (entry.name == name) {
      change(values);
      found = true;
    }
    EXPECT_TRUE(changed->add_values(entry.name, entry.shape, DType::kBF16, values).ok());
  }
  EXPECT_TRUE(found) << name;
  c.checkpoint = std::move(changed);
}

std::vector<Fault> faults() {
  return {
      {"eps ten times too large", "llama", [](Case& c) { set(c, "rms_norm_eps", 1e-5); }},
      {"rope theta 1 % off", "llama", [](Case& c) { set_rope(c, "rope_theta", 10100.0); }},
      {"llama3 rope factor", "llama3_rope", [](Case& c) { set_rope(c, "factor", 4.0); }},
      {"window one wider", "mistral_sw", [](Case& c) { set(c, "sliding_window", 17); }},
      {"window one narrower", "mistral_sw", [](Case& c) { set(c, "sliding_window", 15); }},
      {"window of Gemma one wider", "gemma3_text", [](Case& c) { set(c, "sliding_window", 17); }},
      {"attention scale of Gemma", "gemma3_text", [](Case& c) { set(c, "query_pre_attn_scalar", 255); }},
      {"one element of a bias", "llama_bias",
       [](Case& c) {
         change_tensor(c, "model.layers.2.self_attn.o_proj.bias", [](auto& v) { v[63] = -v[63]; });
       }},
      {"one element of a q norm", "qwen3",
       [](Case& c) {
         change_tensor(c, "model.layers.0.self_attn.q_norm.weight", [](auto& v) { v[31] *= 1.01f; });
       }},
      {"last row of a projection", "qwen2",
       [](Case& c) {
         change_tensor(c, "model.layers.1.mlp.up_proj.weight", [](auto& v) {
           for (size_t i = v.size() - 64; i < v.size(); ++i) v[i] = 0;
         });
       }},
      {"one head's sink", "gpt_oss",
       [](Case& c) { change_tensor(c, "model.layers.1.self_attn.sinks", [](auto& v) { v[3] += 0.02f; }); }},
      {"yarn factor 1 % off", "gpt_oss", [](Case& c) { set_rope(c, "factor", 31.7); }},
      {"one expert's bias", "gpt_oss",
       [](Case& c) {
         change_tensor(c, "model.layers.0.mlp.experts.gate_up_proj_bias", [](auto& v) { v[257] += 0.02f; });
       }},
      {"chunk one wider", "llama4_text", [](Case& c) { set(c, "attention_chunk_size", 17); }},
      {"norms of queries left out", "llama4_text", [](Case& c) { set(c, "use_qk_norm", false); }},
      {"another layer that does not rotate", "llama4_text",
       [](Case& c) { set(c, "no_rope_layers", *parse_json("[0, 1, 0]")); }},
      {"one expert's scale", "gemma4_text_moe",
       [](Case& c) {
         change_tensor(c, "model.layers.3.router.per_expert_scale", [](auto& v) { v[5] *= 1.05f; });
       }},
      {"a generated token of the reference", "qwen2", [](Case& c) { c.expected.greedy[20] ^= 1; }},
      {"one prompt logit", "llama", [](Case& c) { c.expected.logits.back() += 1e-3f; }},
      {"one decode logit", "llama", [](Case& c) { c.expected.step_logits.back() += 1e-3f; }},
      {"a NaN logit of the reference", "llama", [](Case& c) { c.expected.logits[3] = NAN; }},
  };
}

class GoldenFaults : public testing::TestWithParam<const char*> {
 protected:
  static std::unique_ptr<Backend> make() {
    if (std::string(GetParam()) == "ref") return make_ref_backend({});
    return std::move(make_cpu_backend({})).value();
  }
};

TEST_P(GoldenFaults, EveryPlantedFaultIsAMiss) {
  const auto backend = make();
  std::set<std::string> seen_clean;
  for (const Fault& fault : faults()) {
    Case c = read(fault.golden_case);
    if (seen_clean.insert(fault.golden_case).second) {
      const auto clean = run_case(c, *backend, {});
      ASSERT_TRUE(clean.ok()) << clean.status().message();
      EXPECT_TRUE(clean->pass()) << fault.golden_case;
    }
    fault.plant(c);
    const auto faulty = run_case(c, *backend, {});
    ASSERT_TRUE(faulty.ok()) << fault.what << ": " << faulty.status().message();
    EXPECT_FALSE(faulty->pass()) << fault.what;
    std::printf("  %-40s prompt error %.1e, decode error %.1e, greedy %d/%d (allowed %.1e)\n", fault.what,
                faulty->prompt_error, faulty->step_error, faulty->n_agree, faulty->n_steps,
                faulty->prompt_limit);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenFaults, testing::Values("ref", "cpu"),
                         [](const testing::TestParamInfo<const char*>& param) {
                           return std::string(param.param);
                         });

TEST(GoldenReport, JsonAndTableNameTheVerdictOfEachCase) {
  Row miss{"a", "llama", Verdict::kMiss, {}, ""};
  miss.outcome.first_disagreement = 7;
  const std::vector<Row> rows = {miss,
                                 {"b", "odd", Verdict::kUnknown, {}, "model_type \"odd\" is not known"}};
  EXPECT_NE(line_of(rows[0]).find("MISS"), std::string::npos);
  EXPECT_NE(line_of(rows[1]).find("\"odd\""), std::string::npos);
  const auto json = parse_json(json_of(rows, "ref"));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->find("missed")->as_int(), 1);
  EXPECT_EQ(json->find("cases")->items()[0].find("first_disagreement")->as_int(), 7);
}

}  // namespace
}  // namespace skua::golden
