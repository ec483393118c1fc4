// What golden_check prints: one row per case, or one JSON document.
#pragma once

#include <string>
#include <vector>

#include "golden_check/golden_run.h"

namespace skua::golden {

enum class Verdict : uint8_t {
  kPass,
  kMiss,     // logits or greedy choices differ
  kError,    // the folder or the model could not be read or run
  kUnknown,  // no family runs this model_type
};

struct Row {
  std::string name;
  std::string model_type;
  Verdict verdict = Verdict::kError;
  Outcome outcome;      // of kPass and kMiss
  std::string message;  // of kError and kUnknown
};

/// Counts of a list of rows.
struct Summary {
  int n_pass = 0, n_miss = 0, n_error = 0, n_unknown = 0;
};
Summary summarize(const std::vector<Row>& rows);

/// The table's first line, and one line for a row.
std::string header_line();
std::string line_of(const Row& row);

/// The last line of the table.
std::string summary_line(const Summary& summary, const std::string& backend);

/// {"backend", "cases": [...], "passed", "missed", "errors", "unknown"}.
std::string json_of(const std::vector<Row>& rows, const std::string& backend);

}  // namespace skua::golden
