#include "engine/gguf_files.h"

#include <regex>

#include "backend/cpu/cpu_backend.h"

namespace skua::test {

std::vector<float> values_of(const Stored& t) {
  std::vector<float> out;
  for (const auto& row : t.rows) {
    const auto cols = static_cast<int64_t>(row.size()) / (t.format.kind == FormatKind::kF32 ? 4 : 2);
    std::vector<float> values(static_cast<size_t>(cols));
    EncodedMatrix m{t.format, 1, cols, {row.data()}, {row.size()}, {}, {}, 0};
    decode_row(m, 0, 0, cols, values.data());
    out.insert(out.end(), values.begin(), values.end());
  }
  return out;
}

Stored f32(std::vector<int64_t> shape, const std::vector<float>& values) {
  Stored out{plain_format(DType::kF32), std::move(shape), {}, {}};
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  out.rows.emplace_back(bytes, bytes + values.size() * sizeof(float));
  return out;
}

Stored rows_at(const Stored& t, const std::vector<int64_t>& index, std::vector<int64_t> shape) {
  Stored out{t.format, std::move(shape), {}, {}};
  for (const int64_t row : index) out.rows.push_back(t.rows[static_cast<size_t>(row)]);
  return out;
}
Stored row_range(const Stored& t, int64_t first, int64_t n) {
  std::vector<int64_t> index;
  for (int64_t i = 0; i < n; ++i) index.push_back(first + i);
  return rows_at(t, index, {n, t.shape.back()});
}

void each(Tensors& all, const std::string& suffix,
          const std::function<void(const std::string& prefix, const Stored& t, Tensors& out)>& change) {
  Tensors added;
  for (auto at = all.begin(); at != all.end();) {
    if (!at->first.ends_with(suffix)) {
      ++at;
      continue;
    }
    change(at->first.substr(0, at->first.size() - suffix.size()), at->second, added);
    at = all.erase(at);
  }
  all.merge(added);
}

Tensors tensors_of(const Checkpoint& from) {
  Tensors all;
  for (const TensorEntry& entry : from.tensors()) {
    const EncodedMatrix m = must(from.matrix(entry.name));
    Stored& t = all[entry.name];
    t.format = m.format;
    t.shape = entry.shape;
    for (int64_t row = 0; row < m.rows; ++row) {
      t.rows.emplace_back(m.row_plane(0, row), m.row_plane(0, row) + m.row_stride_bytes[0]);
      if (m.format.kind == FormatKind::kMxfp4)
        t.scales.emplace_back(m.row_plane(1, row), m.row_plane(1, row) + m.row_stride_bytes[1]);
    }
  }
  return all;
}

void pair_wise_qk(Tensors& all, int64_t n_heads, int64_t n_kv_heads) {
  for (auto& [name, t] : all) {
    const bool q = name.ends_with("q_proj.weight") || name.ends_with("q_proj.bias");
    const bool k = name.ends_with("k_proj.weight") || name.ends_with("k_proj.bias");
    if (!q && !k) continue;
    const bool bias = t.shape.size() == 1;
    const std::vector<float> values = bias ? values_of(t) : std::vector<float>();
    const int64_t n = bias ? static_cast<int64_t>(values.size()) : t.n();
    const int64_t d = n / (q ? n_heads : n_kv_heads);
    std::vector<int64_t> order;
    for (int64_t row = 0; row < n; ++row) order.push_back(pair_wise_row(row, d));
    if (!bias) {
      t = rows_at(t, order, t.shape);
      continue;
    }
    std::vector<float> turned;
    for (const int64_t from : order) turned.push_back(values[static_cast<size_t>(from)]);
    t = f32(t.shape, turned);
  }
}

const Renames& common_names() {
  static const Renames names = {{"input_layernorm", "attn_norm"},
                                {"post_attention_layernorm", "ffn_norm"},
                                {"self_attn.q_proj", "attn_q"},
                                {"self_attn.k_proj", "attn_k"},
                                {"self_attn.v_proj", "attn_v"},
                                {"self_attn.o_proj", "attn_output"},
                                {"self_attn.q_norm", "attn_q_norm"},
                                {"self_attn.k_norm", "attn_k_norm"},
                                {"mlp.gate", "ffn_gate_inp"},
                                {"mlp.gate_proj", "ffn_gate"},
                                {"mlp.up_proj", "ffn_up"},
                                {"mlp.down_proj", "ffn_down"},
                                {"mlp.shared_experts.gate_proj", "ffn_gate_shexp"},
                                {"mlp.shared_experts.up_proj", "ffn_up_shexp"},
                                {"mlp.shared_experts.down_proj", "ffn_down_shexp"},
                                {"mlp.gate.e_score_correction_bias", "exp_probs_b.bias"},
                                {"model.embed_tokens", "token_embd"},
                                {"model.norm", "output_norm"},
                                {"lm_head", "output"}};
  return names;
}

std::pair<std::string, bool> gguf_name(const Renames& own, const std::string& name) {
  static const std::regex expert(R"((?:\w+\.)+?(?:layers|h)\.(\d+)\..*\bexperts\.\d+\.(\w+)\.weight)");
  static const std::regex layer(R"((?:\w+\.)+?(?:layers|h)\.(\d+)\.(.*?)(\.weight|\.bias|))");
  static const std::regex other(R"((.*?)(\.weight|\.bias|))");
  std::smatch match;
  if (std::regex_match(name, match, expert)) {
    const std::string part = match[2].str();
    const char* role = part == "gate_proj" || part == "w1" ? "gate"
                       : part == "up_proj" || part == "w3" ? "up"
                                                           : "down";
    return {"blk." + match[1].str() + ".ffn_" + role + "_exps.weight", true};
  }
  std::string prefix;
  if (std::regex_match(name, match, layer)) {
    prefix = "blk." + match[1].str() + ".";
  } else {
    std::regex_match(name, match, other);
  }
  const std::string stem = match[match.size() - 2], suffix = match[match.size() - 1];
  for (const Renames* table : {&own, &common_names()}) {
    for (const auto& [from, to] : *table) {
      const bool whole = to.ends_with(".weight") || to.ends_with(".bias") || to.ends_with(".scale") ||
                         to == "ssm_a" || to == "ssm_d";
      if (from == stem) return {prefix + to + (whole ? "" : suffix), false};
    }
  }
  return {"?" + name, false};
}

Json gguf_metadata(const std::string& arch, const ModelInfo& info, const Json& more) {
  Json keys = *parse_json(R"({"rope.freq_base": 10000.0, "attention.layer_norm_rms_epsilon": 1e-5})");
  keys.set("block_count", Json(info.n_layers));
  keys.set("context_length", Json(info.max_context));
  keys.set("embedding_length", Json(info.d_model));
  keys.set("feed_forward_length", Json(info.d_ff));
  keys.set("attention.head_count", Json(info.n_heads));
  keys.set("attention.head_count_kv", Json(info.n_kv_heads));
  keys.set("attention.key_length", Json(info.head_dim));
  keys.set("attention.value_length", Json(info.head_dim));
  for (const auto& [key, value] : more.members()) keys.set(key, value);
  Json out = Json::object();
  out.set("general.architecture", Json(arch));
  for (const auto& [key, value] : keys.members())
    if (!value.is_null()) out.set(arch + "." + key, value);
  return out;
}

std::unique_ptr<FakeGguf> gguf_file(const Tensors& all, const Renames& own, Json metadata) {
  Tensors renamed;
  for (const auto& [name, t] : all) {
    const auto [to, is_expert] = gguf_name(own, name);
    const Stored plain = t.shape.size() == 1 ? f32(t.shape, values_of(t)) : t;
    Stored& stored = renamed[to];
    const int64_t n = stored.shape.empty() ? 1 : stored.shape[0] + 1;
    stored.format = plain.format;
    stored.shape = is_expert ? std::vector<int64_t>{n, t.n(), t.shape.back()} : t.shape;
    stored.rows.insert(stored.rows.end(), plain.rows.begin(), plain.rows.end());
  }
  auto out = std::make_unique<FakeGguf>();
  for (const auto& [name, t] : renamed) {
    std::vector<std::byte> bytes;
    for (const auto& row : t.rows) bytes.insert(bytes.end(), row.begin(), row.end());
    const Status status = out->add_tensor(name, t.shape, t.format, std::move(bytes));
    if (!status.ok()) check_failed(__FILE__, __LINE__, "add_tensor", status.message());
  }
  out->set_config(std::move(metadata));
  return out;
}

Rows logits_of(const Checkpoint& checkpoint) {
  HandRunner hand(checkpoint, must(make_cpu_backend({.n_threads = 1})),
                  {.context = 128, .max_tokens = 128, .max_seqs = 1, .fusion = Fusion::kOn});
  HandSeq seq = hand.new_seq();
  return hand.step({{&seq, random_ids(3, 70, hand.n_vocab())}});
}

}  // namespace skua::test
