// Bounds by op. Everything is computed from the case's operands, not from the kernel under test.
#include "backend/op_bounds.h"

#include <algorithm>
#include <cmath>

#include "backend/scan_bounds.h"
#include "base/check.h"

namespace skua::test {
namespace {

double norm_of(const double* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return std::sqrt(sum);
}

double max_abs(const double* x, int64_t n) {
  double out = 0;
  for (int64_t i = 0; i < n; ++i) out = std::max(out, std::abs(x[i]));
  return out;
}

/// Sizes of the cached row of one token, per kv head.
struct CachedRow {
  std::vector<double> k_norm, v_norm, v_max;
  std::vector<double> latent = {};  // kLatent: the row's v itself
};

class Bounds {
 public:
  Bounds(const OpCase& op_case, const std::vector<StepValues>& exact, double u)
      : case_(op_case), exact_(exact), u_(u) {}

  std::vector<double> slack(ValueId output) {
    const Node* producer = nullptr;
    size_t output_index = 0;
    for (const Node& node : case_.graph.nodes) {
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i] == output) {
          producer = &node;
          output_index = i;
        }
      }
    }
    SKUA_CHECK(producer != nullptr);
    std::vector<double> all;
    for (step_ = 0; step_ < case_.steps.size(); ++step_) {
      record_cache();
      node_ = producer;
      output_ = output_index;
      y_ = &value(output);
      rows_ = case_.n_rows(case_.steps[step_], output);
      std::vector<double> part(y_->size(), 0.0);
      slack_ = &part;
      std::visit(*this, producer->op);
      for (double& s : part) {
        if (!std::isfinite(s)) s = 0.0;  // judged by pattern only
      }
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  void operator()(const Embed&) {}
  void operator()(const Add&) {}
  void operator()(const Mul&) {}
  void operator()(const ScaleBy&) {}
  void operator()(const ScaleColumns&) {}
  void operator()(const Slice&) {}
  void operator()(const PositionScale&) {}
  void operator()(const Scale&) {}
  void operator()(const GatherRows&) {}
  void operator()(const IndexSelect&) {
  }  // the choice is exact: cases keep scores further apart than rounding
  void operator()(const KvWrite&) {}
  void operator()(const RopeKvWrite&) {}

  void operator()(const RmsNorm& op) { norm(op, input(0), 0.0); }

  void operator()(const AddRmsNorm& op) {
    if (output_ == 0) return;
    std::vector<double> sum = input(0);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += input(1)[i];
    norm(op.norm, sum, 2.0);
  }

  void operator()(const LayerNorm& op) {
    const std::vector<double>& x = input(0);
    const auto n = static_cast<size_t>(width(0) / op.n_groups);
    const auto vector = [&](const std::optional<WeightId>& id, double none) {
      return id ? weight(*id).row(0) : std::vector<double>{none};
    };
    const std::vector<double> w = vector(op.weight, 1.0), b = vector(op.bias, 0.0);
    const double depth = 8.0 + static_cast<double>(n) / 16.0;
    for (size_t at = 0; at < x.size(); at += n) {
      double mean = 0, size = 0, square = 0;
      for (size_t i = at; i < at + n; ++i) mean += x[i] / static_cast<double>(n);
      for (size_t i = at; i < at + n; ++i) {
        size += std::abs(x[i]) / static_cast<double>(n);
        square += (x[i] - mean) * (x[i] - mean) / static_cast<double>(n);
      }
      const double root = std::sqrt(square + double{op.eps});
      for (size_t i = at; i < at + n; ++i) {
        const size_t column = i % static_cast<size_t>(width(0));
        (*slack_)[i] = depth * u_ * ((std::abs(x[i]) + size) / root * std::abs(w[column % w.size()])) +
                       u_ * std::abs(b[column % b.size()]);
      }
    }
  }

  void operator()(const Linear& op) { *slack_ = linear_error(op); }
  void operator()(const MultiLinear& op) { *slack_ = linear_error(op.parts[output_]); }

  void operator()(const GatedLinear& op) {
    const std::vector<double> gate_error = linear_error(op.gate);
    const std::vector<double> up_error = linear_error(op.up);
    const std::vector<double> gate = linear_value(op.gate);
    const std::vector<double> up = linear_value(op.up);
    const double u_product = std::max(u_, unit(op.product_storage));
    for (size_t i = 0; i < slack_->size(); ++i) {
      const double g = std::abs(gate[i]);
      const double v = std::abs(up[i]);
      (*slack_)[i] = 1.13 * v * gate_error[i] + g * up_error[i] + 1.13 * gate_error[i] * up_error[i] +
                     (8 * u_ + 2.2 * u_product) * g * v;
    }
  }

  void operator()(const RopeAngles& op) {
    std::fill(slack_->begin(), slack_->end(), u_ * std::abs(op.attention_factor));
  }

  void operator()(const Rope& op) {
    const int64_t half = width(1) / 2;
    for (int64_t t = 0; t < rows_; ++t) {
      const double* angles = &input(1)[static_cast<size_t>(t * 2 * half)];
      for (int64_t head = 0; head < op.n_heads; ++head) {
        const auto at = static_cast<size_t>((t * op.n_heads + head) * op.head_dim);
        for (int64_t i = 0; i < half; ++i) {
          const auto a = at + static_cast<size_t>(op.style == RopeStyle::kHalf ? i : 2 * i);
          const auto b = op.style == RopeStyle::kHalf ? a + static_cast<size_t>(half) : a + 1;
          const double cos = std::abs(angles[i]);
          const double sin = std::abs(angles[half + i]);
          const double x = std::abs(input(0)[a]);
          const double z = std::abs(input(0)[b]);
          (*slack_)[a] = 2 * u_ * (x * cos + z * sin);
          (*slack_)[b] = 2 * u_ * (z * cos + x * sin);
        }
      }
    }
  }

  void operator()(const ActMul& op) {
    const bool cancels = op.act == Act::kGeluTanh || op.act == Act::kGeluErf;
    const auto up_width = static_cast<size_t>(width(1));
    for (size_t i = 0; i < slack_->size(); ++i) {
      const double gate = input(0)[width(0) == 1 ? i / up_width : i];
      (*slack_)[i] = 8 * u_ * std::abs(cancels ? gate * input(1)[i] : (*y_)[i]);
    }
  }

  void operator()(const Activate& op) {
    const bool cancels = op.act == Act::kGeluTanh || op.act == Act::kGeluErf;
    for (size_t i = 0; i < slack_->size(); ++i) {
      (*slack_)[i] = 8 * u_ * std::abs(cancels ? input(0)[i] : (*y_)[i]);
    }
  }

  void operator()(const XIelu& op) {
    double parameters = 2.0;  // softplus adds at most log 2 to each
    for (const WeightId id : {op.alpha_p, op.alpha_n, op.beta}) parameters += std::abs(weight(id).row(0)[0]);
    for (size_t i = 0; i < slack_->size(); ++i) {
      const double x = std::abs(input(0)[i]);
      (*slack_)[i] = 8 * u_ * parameters * (x + x * x);
    }
  }

  void operator()(const WeightedSum& op) {
    const int64_t n = width(1);
    const double depth = static_cast<double>(node_->inputs.size()) + 2;
    for (int64_t t = 0; t < rows_; ++t) {
      for (size_t s = 1; s < node_->inputs.size(); ++s) {
        const double c = input(0)[static_cast<size_t>(t * width(0) + op.begin) + s - 1];
        for (int64_t i = 0; i < n; ++i) {
          const auto at = static_cast<size_t>(t * n + i);
          (*slack_)[at] += depth * u_ * (std::abs(c) + std::abs(op.offset)) * std::abs(input(s)[at]);
        }
      }
    }
  }

  void operator()(const Cutoff& op) {
    const int64_t n = width(0);
    const double depth = 8.0 + static_cast<double>(n) / 16.0;
    for (int64_t t = 0; t < rows_; ++t) {
      const double* x = &input(0)[static_cast<size_t>(t * n)];
      const double size = norm_of(x, n) / std::sqrt(static_cast<double>(n));  // at least mean |x| and std
      for (int64_t i = 0; i < n; ++i) {
        (*slack_)[static_cast<size_t>(t * n + i)] =
            depth * u_ * (std::abs(x[i]) + size * (1 + 2 * std::abs(op.multiplier)));
      }
    }
  }

  void operator()(const MatchMagnitude&) {
    const double depth = 8.0 + static_cast<double>(width(0)) / 16.0;
    for (size_t i = 0; i < slack_->size(); ++i) (*slack_)[i] = depth * u_ * std::abs((*y_)[i]);
  }

  void operator()(const Softcap&) {
    for (size_t i = 0; i < slack_->size(); ++i) (*slack_)[i] = 8 * u_ * std::abs((*y_)[i]);
  }

  void operator()(const HeadLinear& op) {
    const HostWeight& w = weight(op.weight);
    const int64_t head_rows = w.rows / op.n_heads;
    const double depth = 16.0 + static_cast<double>(w.cols) / 8.0;
    for (int64_t n = 0; n < w.rows; ++n) {
      const std::vector<double> row = w.row(n);
      for (int64_t t = 0; t < rows_; ++t) {
        const int64_t at = t * w.cols * op.n_heads + n / head_rows * w.cols;
        double sum = 0;
        for (int64_t k = 0; k < w.cols; ++k) {
          sum += std::abs(input(0)[static_cast<size_t>(at + k)] * row[static_cast<size_t>(k)]);
        }
        (*slack_)[static_cast<size_t>(t * w.rows + n)] = depth * u_ * sum;
      }
    }
  }

  /// A score moves by at most the logits' error (softmax: of two logits), a normalised one by twice as much.
  /// The choice itself is exact: cases keep their choices further apart than that.
  void operator()(const MoeRouter& op) {
    const std::vector<double> logit_error = linear_error({op.weight, op.bias});
    const int64_t n = weight(op.weight).rows;
    for (int64_t t = 0; t < rows_; ++t) {
      const auto row = static_cast<size_t>(t * n);
      const double worst = max_abs(&logit_error[row], n);
      for (auto i = row; i < row + static_cast<size_t>(n); ++i) {
        (*slack_)[i] = std::abs((*y_)[i]) * (4 * worst + (40 + static_cast<double>(n)) * u_);
      }
    }
  }

  void operator()(const MoeExperts& op) {
    for (int64_t t = 0; t < rows_; ++t) {
      const double* routing = &input(1)[static_cast<size_t>(t * width(1))];
      for (int64_t e = 0; e < width(1); ++e) {
        if (routing[e] != 0.0) expert(op, t, e, routing[e]);
      }
    }
  }

  void operator()(const CausalConv& op) {
    const HostWeight& w = weight(op.weight);
    const std::vector<double> bias =
        op.bias ? weight(*op.bias).row(0) : std::vector<double>(static_cast<size_t>(w.cols));
    int64_t token = 0;
    for (const CaseSeq& seq : case_.steps[step_].seqs) {
      for (int32_t i = 0; i < seq.q_len; ++i, ++token) {
        const int64_t position = seq.kv_len - seq.q_len + i;
        for (int64_t c = 0; c < w.cols; ++c) {
          double sum = std::abs(bias[static_cast<size_t>(c)]);
          for (int64_t j = 0; j < w.rows; ++j) {
            const auto row = kept_.find(cell(seq, position - (w.rows - 1 - j)));
            if (row != kept_.end())
              sum += std::abs(w.row(j)[static_cast<size_t>(c)] * row->second.value[static_cast<size_t>(c)]);
          }
          const auto at = static_cast<size_t>(token * w.cols + c);
          (*slack_)[at] = 1.13 * (static_cast<double>(w.rows) + 2) * u_ * sum + 8 * u_ * std::abs((*y_)[at]);
        }
      }
    }
  }

  void operator()(const Ssm2& op) {
    const size_t d_inner = static_cast<size_t>(op.n_heads) * static_cast<size_t>(op.head_dim);
    const size_t bc = static_cast<size_t>(op.n_groups) * static_cast<size_t>(op.state_dim);
    size_t token = 0;
    for (const CaseSeq& seq : case_.steps[step_].seqs) {
      for (int32_t i = 0; i < seq.q_len; ++i, ++token) {
        const Kept& state = kept_.at(cell(seq, seq.kv_len - seq.q_len + i));
        const double* xbc = &input(0)[token * (d_inner + 2 * bc)];
        for (size_t p = 0; p < d_inner; ++p) {
          const size_t head = p / static_cast<size_t>(op.head_dim);
          const double* c = xbc + d_inner + bc + group_of(op, head) * static_cast<size_t>(op.state_dim);
          double slack = 3 * u_ * std::abs(weight(op.d).row(0)[head] * xbc[p]);
          for (size_t n = 0; n < static_cast<size_t>(op.state_dim); ++n) {
            const size_t at = n * d_inner + p;
            slack += std::abs(c[n]) * (state.error[at] + (8 + op.state_dim / 4.0) * u_ * state.value[at]);
          }
          (*slack_)[token * d_inner + p] = slack;
        }
      }
    }
  }

  /// fn(token, state after it) for every token of this step.
  template <typename Fn>
  void each_state(const Fn& fn) {
    int64_t token = 0;
    for (const CaseSeq& seq : case_.steps[step_].seqs) {
      for (int32_t i = 0; i < seq.q_len; ++i, ++token)
        fn(token, kept_.at(cell(seq, seq.kv_len - seq.q_len + i)));
    }
  }

  void operator()(const GatedDelta& op) {
    slack_->clear();
    each_state([&](int64_t, const Kept& state) {
      const std::vector<double> part = delta_bounds(op).slack(state);
      slack_->insert(slack_->end(), part.begin(), part.end());
    });
  }

  void operator()(const Ssm1& op) {
    slack_->clear();
    each_state([&](int64_t token, const Kept& state) {
      const std::vector<double> part =
          ssm1_bounds(op).slack(state, &input(0)[static_cast<size_t>(token * width(0))],
                                &input(3)[static_cast<size_t>(token * width(3))]);
      slack_->insert(slack_->end(), part.begin(), part.end());
    });
  }

  void operator()(const MlaAttention& op) {
    const CacheSlot& slot = case_.graph.slot(op.slot);
    int64_t token = 0;
    for (const CaseSeq& seq : case_.steps[step_].seqs) {
      for (int32_t i = 0; i < seq.q_len; ++i, ++token) {
        double k_norm = 0, v_norm = 0, v_max = 0, n_keys = 0;
        for (int64_t key = 0; key <= seq.kv_len - seq.q_len + i; ++key) {
          const auto row = cache_[op.slot.value()].find(cell(seq, key));
          if (row == cache_[op.slot.value()].end()) continue;
          k_norm = std::max(k_norm, row->second.k_norm[0]);
          v_norm = std::max(v_norm, row->second.v_norm[0]);
          v_max = std::max(v_max, row->second.v_max[0]);
          n_keys += 1;
        }
        for (int64_t head = token * op.n_heads; head < (token + 1) * op.n_heads; ++head) {
          const double score =
              std::abs(op.scale) *
              (norm_of(&input(0)[static_cast<size_t>(head * slot.v_dim)], slot.v_dim) * v_norm +
               norm_of(&input(1)[static_cast<size_t>(head * slot.k_dim)], slot.k_dim) * k_norm);
          const double depth = static_cast<double>(slot.k_dim + slot.v_dim) / 8.0 + 8;
          const double slack = v_max * u_ * (2 * depth * score + n_keys / 4 + 32);
          for (int64_t c = 0; c < slot.v_dim; ++c)
            (*slack_)[static_cast<size_t>(head * slot.v_dim + c)] = slack;
        }
      }
    }
  }

  /// Both forms: sums over the latent and over a head's dimensions, in either order, at full absolute size.
  void operator()(const MlaFastAttention& op) {
    const CacheSlot& slot = case_.graph.slot(op.slot);
    int64_t token = 0;
    for (const CaseSeq& seq : case_.steps[step_].seqs) {
      for (int32_t i = 0; i < seq.q_len; ++i, ++token) {
        std::vector<const CachedRow*> seen;
        for (int64_t key = 0; key <= seq.kv_len - seq.q_len + i; ++key) {
          const auto row = cache_[op.slot.value()].find(cell(seq, key));
          if (row != cache_[op.slot.value()].end()) seen.push_back(&row->second);
        }
        for (int64_t head = 0; head < op.n_heads; ++head) fast_head(op, slot, token, head, seen);
      }
    }
  }

  void fast_head(const MlaFastAttention& op, const CacheSlot& slot, int64_t token, int64_t head,
                 const std::vector<const CachedRow*>& seen) {
    const int64_t nope = weight(op.up_keys).cols, v_dim = weight(op.up_values).rows / op.n_heads;
    const int64_t rank = slot.v_dim, at = token * op.n_heads + head;
    const double pe = norm_of(&input(1)[static_cast<size_t>(at * slot.k_dim)], slot.k_dim);
    std::vector<double> q_size(static_cast<size_t>(rank), 0.0), largest(static_cast<size_t>(rank), 0.0);
    for (int64_t r = 0; r < rank; ++r) {
      const std::vector<double> w = weight(op.up_keys).row(head * rank + r);
      for (int64_t d = 0; d < nope; ++d) {
        q_size[static_cast<size_t>(r)] +=
            std::abs(w[static_cast<size_t>(d)] * input(0)[static_cast<size_t>(at * nope + d)]);
      }
    }
    const double sum_depth = std::max(static_cast<double>(rank), 16 + static_cast<double>(nope) / 8);
    const double dot_depth = 16 + static_cast<double>(rank + nope + slot.k_dim) / 8;
    double score = 0;  // error of one, in units of u
    for (const CachedRow* row : seen) {
      double size = 0;
      for (size_t r = 0; r < q_size.size(); ++r) {
        size += q_size[r] * std::abs(row->latent[r]);
        largest[r] = std::max(largest[r], std::abs(row->latent[r]));
      }
      score = std::max(score, (sum_depth + dot_depth) * size + dot_depth * pe * row->k_norm[0]);
    }
    const double relative = 2 * std::abs(op.scale) * score + static_cast<double>(seen.size()) / 4 + 48 +
                            static_cast<double>(rank) / 4;
    for (int64_t d = 0; d < v_dim; ++d) {
      const std::vector<double> w = weight(op.up_values).row(head * v_dim + d);
      double size = 0;
      for (size_t r = 0; r < largest.size(); ++r) size += std::abs(w[r]) * largest[r];
      (*slack_)[static_cast<size_t>(at * v_dim + d)] = u_ * relative * size;
    }
  }

  void operator()(const Attention& op) {
    const CacheSlot& slot = case_.graph.slot(op.slot);
    const CaseStep& step = case_.steps[step_];
    int64_t token = 0;
    for (const CaseSeq& seq : step.seqs) {
      for (int32_t i = 0; i < seq.q_len; ++i, ++token) {
        const int64_t position = seq.kv_len - seq.q_len + i;
        for (int64_t head = 0; head < op.n_heads; ++head)
          attention_head(op, slot, seq, token, position, head);
      }
    }
  }

 private:
  static double unit(DType type) {
    return type == DType::kF64 ? 0x1p-53 : type == DType::kF32 ? 0x1p-24 : 0x1p-8;
  }

  const std::vector<double>& value(ValueId id) const {
    const auto given = case_.steps[step_].inputs.find(id.value());
    return given != case_.steps[step_].inputs.end() ? given->second : exact_[step_].at(id.value());
  }
  const std::vector<double>& input(size_t i) const { return value(node_->inputs[i]); }
  int64_t width(size_t i) const { return case_.graph.value(node_->inputs[i]).type.width; }
  const HostWeight& weight(WeightId id) const { return case_.weights[id.value()]; }

  void norm(const RmsNorm& op, const std::vector<double>& x, double more_depth) {
    const auto n = static_cast<int64_t>(width(0) / op.n_groups);
    const std::vector<double> w =
        op.weight ? weight(*op.weight).row(0) : std::vector<double>(static_cast<size_t>(n), 1.0);
    const double depth = 8.0 + static_cast<double>(n) / 32.0 + more_depth;
    for (size_t at = 0; at < x.size(); at += w.size()) {
      const double rms = std::sqrt(std::pow(norm_of(&x[at], n), 2) / static_cast<double>(n) + double{op.eps});
      for (size_t i = 0; i < w.size(); ++i) {
        (*slack_)[at + i] =
            depth * u_ * std::abs(x[at + i]) / rms * (std::abs(w[i]) + std::abs(op.weight_offset));
      }
    }
  }

  std::vector<double> linear_sum(const Linear& op, double (*term)(double)) const {
    const HostWeight& w = weight(op.weight);
    std::vector<double> out(static_cast<size_t>(rows_ * w.rows));
    const std::vector<double> bias =
        op.bias ? weight(*op.bias).row(0) : std::vector<double>(static_cast<size_t>(w.rows));
    for (int64_t n = 0; n < w.rows; ++n) {
      const std::vector<double> row = w.row(n);
      for (int64_t t = 0; t < rows_; ++t) {
        double sum = term(bias[static_cast<size_t>(n)]);
        for (int64_t k = 0; k < w.cols; ++k) {
          sum += term(input(0)[static_cast<size_t>(t * w.cols + k)] * row[static_cast<size_t>(k)]);
        }
        out[static_cast<size_t>(t * w.rows + n)] = sum;
      }
    }
    return out;
  }
  std::vector<double> linear_value(const Linear& op) const {
    return linear_sum(op, [](double x) { return x; });
  }
  std::vector<double> linear_error(const Linear& op) const {
    std::vector<double> out = linear_sum(op, [](double x) { return std::abs(x); });
    const double depth = 16.0 + static_cast<double>(weight(op.weight).cols) / 8.0;
    for (double& s : out) s *= depth * u_;
    return out;
  }

  struct Product {
    double value = 0, error = 0;
  };
  /// Row `row` of a weight (and its bias) with x, whose elements are off by `x_error`.
  Product product(WeightId id, const std::optional<WeightId>& bias, int64_t row, const double* x,
                  const double* x_error) const {
    const std::vector<double> w = weight(id).row(row);
    const double b = bias ? weight(*bias).row(0)[static_cast<size_t>(row)] : 0.0;
    Product out{b, 0};
    double sum = std::abs(b);
    for (size_t k = 0; k < w.size(); ++k) {
      out.value += x[k] * w[k];
      sum += std::abs(x[k] * w[k]);
      if (x_error != nullptr) out.error += x_error[k] * std::abs(w[k]);
    }
    out.error += (16.0 + static_cast<double>(w.size()) / 8.0) * u_ * sum;
    return out;
  }

  /// Adds the error of one expert's part of one token. Activations change by at most 1.13 times their input.
  void expert(const MoeExperts& op, int64_t t, int64_t e, double routing) {
    const int64_t d = width(0);
    const double* x = &input(0)[static_cast<size_t>(t * d)];
    double* slack = &(*slack_)[static_cast<size_t>(t * d)];
    if (e >= op.n_experts) {
      for (int64_t i = 0; i < d; ++i)
        slack[i] += static_cast<double>(op.top_k) * u_ * std::abs(routing * x[i]);
      return;
    }
    const bool before = op.weigh == MoeExperts::Weigh::kInput;
    std::vector<double> scaled(x, x + d);
    if (before) {
      for (double& v : scaled) v *= routing;
    }
    const double outside = before ? 1.0 : std::abs(routing);
    const int64_t d_ff = weight(op.down).cols;
    std::vector<double> hidden, hidden_error;
    for (int64_t i = 0; i < d_ff; ++i) {
      const Product g = product(op.gate, op.gate_bias, e * d_ff + i, scaled.data(), nullptr);
      const Product u = product(op.up, op.up_bias, e * d_ff + i, scaled.data(), nullptr);
      const double up = std::abs(u.value) + (op.swiglu_limit > 0 ? 1.0 : 0.0);
      hidden.push_back(std::abs(g.value) * up);
      hidden_error.push_back(1.13 * up * g.error + std::abs(g.value) * u.error + 1.13 * g.error * u.error +
                             14 * u_ * std::abs(g.value) * up);
    }
    for (int64_t i = 0; i < d; ++i) {
      const std::vector<double> w = weight(op.down).row(e * d + i);
      double sum =
          op.down_bias ? std::abs(weight(*op.down_bias).row(0)[static_cast<size_t>(e * d + i)]) : 0.0;
      double error = 0;
      for (size_t k = 0; k < w.size(); ++k) {
        sum += hidden[k] * std::abs(w[k]);
        error += hidden_error[k] * std::abs(w[k]);
      }
      const double depth = 20.0 + static_cast<double>(w.size()) / 8.0 + static_cast<double>(op.top_k);
      slack[i] += outside * (error + depth * u_ * sum);
    }
  }

  static size_t group_of(const Ssm2& op, size_t head) {
    return head / static_cast<size_t>(op.n_heads / op.n_groups);
  }

  /// What is known of a cached row: a convolution's inputs, or the size and the error of a scan's state after
  /// it. Cases with such slots have one of them.
  using Kept = ScanState;

  DeltaBounds delta_bounds(const GatedDelta& op) const {
    return {op, weight(op.a_log).row(0), weight(op.dt_bias).row(0), u_};
  }
  Ssm1Bounds ssm1_bounds(const Ssm1& op) const {
    return {weight(op.a_log), weight(op.dt_bias).row(0), weight(op.d).row(0), u_};
  }

  /// The state after token `token` of this step.
  Kept advanced(const Node& node, size_t token, const Kept& before) {
    const auto row = [&](size_t i) {
      const auto n = static_cast<size_t>(case_.graph.value(node.inputs[i]).type.width);
      return &value(node.inputs[i])[token * n];
    };
    if (const auto* op = std::get_if<GatedDelta>(&node.op))
      return delta_bounds(*op).advance(before, row(2), row(3), row(4));
    if (const auto* op = std::get_if<Ssm1>(&node.op))
      return ssm1_bounds(*op).advance(before, row(0), row(1), row(2));
    return advance(std::get<Ssm2>(node.op), before, row(0), row(1));
  }

  void record_kept(const Node& node) {
    const auto width = static_cast<size_t>(case_.graph.value(node.inputs[0]).type.width);
    size_t token = 0;
    for (const CaseSeq& seq : case_.steps[step_].seqs) {
      for (int32_t i = 0; i < seq.q_len; ++i, ++token) {
        const int64_t position = seq.kv_len - seq.q_len + i;
        const double* x = &value(node.inputs[0])[token * width];
        Kept next{{x, x + width}, {}};
        if (!std::holds_alternative<CausalConv>(node.op)) {
          const auto before = position == 0 ? kept_.end() : kept_.find(cell(seq, position - 1));
          next = advanced(node, token, before == kept_.end() ? Kept{} : before->second);
        }
        kept_[cell(seq, position)] = std::move(next);
      }
    }
  }

  /// Sizes and errors of a scan's state [state_dim, d_inner] after one more token.
  Kept advance(const Ssm2& op, Kept state, const double* x, const double* dt_in) const {
    const auto head_dim = static_cast<size_t>(op.head_dim), n_state = static_cast<size_t>(op.state_dim);
    const size_t d_inner = static_cast<size_t>(op.n_heads) * head_dim;
    state.value.resize(n_state * d_inner);
    state.error.resize(n_state * d_inner);
    for (size_t p = 0; p < d_inner; ++p) {
      const size_t head = p / head_dim;
      const double arg = dt_in[head] + weight(op.dt_bias).row(0)[head];
      const double soft = std::max(arg, 0.0) + std::log1p(std::exp(-std::abs(arg)));
      const double dt = std::min(std::max(soft, double{op.dt_min}), double{op.dt_max});
      const double rate = std::exp(weight(op.a_log).row(0)[head]) * dt;
      const double dt_error = (8 + 2 * std::abs(arg)) * u_;  // relative
      const double factor = std::exp(-rate), factor_error = rate * (dt_error + 4 * u_) + 3 * u_;
      const double* b = x + d_inner + group_of(op, head) * n_state;
      for (size_t n = 0; n < n_state; ++n) {
        double& size = state.value[n * d_inner + p];
        double& error = state.error[n * d_inner + p];
        const double added = std::abs(dt * b[n] * x[p]);
        error = factor * error + factor * size * (factor_error + u_) + added * (dt_error + 3 * u_);
        size = factor * size + added;
        error += u_ * size;
      }
    }
    return state;
  }

  /// Notes what this step's tokens write into each slot.
  void record_cache() {
    cache_.resize(case_.graph.slots.size());
    for (const Node& node : case_.graph.nodes) {
      if (scans_slot(node.op)) record_kept(node);
    }
    for (const Node& node : case_.graph.nodes) {
      const bool fused = std::holds_alternative<RopeKvWrite>(node.op);
      if (!fused && !std::holds_alternative<KvWrite>(node.op)) continue;
      const SlotId slot_id = *op_slot(node.op);
      const CacheSlot& slot = case_.graph.slot(slot_id);
      const std::vector<double>& k = value(node.inputs[0]);
      const std::vector<double>& v = value(node.inputs[fused ? 2 : 1]);
      int64_t token = 0;
      for (const CaseSeq& seq : case_.steps[step_].seqs) {
        for (int32_t i = 0; i < seq.q_len; ++i, ++token) {
          CachedRow row;
          for (int64_t head = 0; head < slot.n_kv_heads; ++head) {
            const int64_t at = token * slot.n_kv_heads + head;
            row.k_norm.push_back(norm_of(&k[static_cast<size_t>(at * slot.k_dim)], slot.k_dim));
            row.v_norm.push_back(norm_of(&v[static_cast<size_t>(at * slot.v_dim)], slot.v_dim));
            row.v_max.push_back(max_abs(&v[static_cast<size_t>(at * slot.v_dim)], slot.v_dim));
          }
          if (slot.kind == SlotKind::kLatent) {
            const auto at = v.begin() + static_cast<std::ptrdiff_t>(token * slot.v_dim);
            row.latent.assign(at, at + slot.v_dim);
          }
          const int64_t key = cell(seq, seq.kv_len - seq.q_len + i);
          if (key >= 0) cache_[slot_id.value()][key] = std::move(row);
        }
      }
    }
  }

  static int64_t cell(const CaseSeq& seq, int64_t position) {
    if (position < 0) return -1;
    const auto page = static_cast<size_t>(position / kPageTokens);
    if (page >= seq.pages.size() || seq.pages[page] < 0) return -1;
    return int64_t{seq.pages[page]} * kPageTokens + position % kPageTokens;
  }

  void attention_head(const Attention& op, const CacheSlot& slot, const CaseSeq& seq, int64_t token,
                      int64_t position, int64_t head) {
    const auto kv_head = static_cast<size_t>(head / (op.n_heads / slot.n_kv_heads));
    const double q_norm =
        norm_of(&input(0)[static_cast<size_t>((token * op.n_heads + head) * slot.k_dim)], slot.k_dim);
    double k_norm = 0;
    double v_max = 0;
    double n_keys = 0;
    for (int64_t key = first_key(position, op.window, op.chunk); key <= position; ++key) {
      const auto row = cache_[op.slot.value()].find(cell(seq, key));
      if (row == cache_[op.slot.value()].end()) continue;
      k_norm = std::max(k_norm, row->second.k_norm[kv_head]);
      v_max = std::max(v_max, row->second.v_max[kv_head]);
      n_keys += 1;
    }
    double score = std::abs(op.scale) * q_norm * k_norm;
    if (op.sinks) score = std::max(score, std::abs(weight(*op.sinks).row(0)[static_cast<size_t>(head)]));
    const double slack = v_max * u_ * (2 * (slot.k_dim / 8.0 + 8) * score + n_keys / 4 + 32);
    for (int64_t i = 0; i < slot.v_dim; ++i) {
      (*slack_)[static_cast<size_t>((token * op.n_heads + head) * slot.v_dim + i)] = slack;
    }
  }

  const OpCase& case_;
  const std::vector<StepValues>& exact_;
  double u_;
  size_t step_ = 0;
  const Node* node_ = nullptr;
  size_t output_ = 0;
  const std::vector<double>* y_ = nullptr;
  int64_t rows_ = 0;
  std::vector<double>* slack_ = nullptr;
  std::vector<std::map<int64_t, CachedRow>> cache_;
  std::map<int64_t, Kept> kept_;  // by cell
};

}  // namespace

std::vector<double> slack_of(const OpCase& op_case, const std::vector<StepValues>& exact, ValueId output,
                             double u_acc) {
  return Bounds(op_case, exact, u_acc).slack(output);
}

}  // namespace skua::test
