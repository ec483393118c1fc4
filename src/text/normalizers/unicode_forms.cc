// NFC, NFD, NFKC, NFKD with origins. The algorithm is Unicode's (UAX 15) over ICU's data, written out here
// because origins must be kept and because sorting marks must not take quadratic time.
#include <algorithm>

#include "text/hf_unicode.h"
#include "text/normalizers/normalizers.h"

namespace skua::text {
namespace {

bool composes(NormalForm form) { return form == NormalForm::kNfc || form == NormalForm::kNfkc; }

struct FormPart {
  char32_t c;
  int change;
  uint8_t ccc;
};

// Decomposes `text` and puts runs of marks in canonical order.
std::vector<FormPart> decompose(std::u32string_view text, NormalForm form) {
  std::vector<FormPart> parts;
  std::u32string expanded;
  size_t marks = 0;  // start of the present run of marks
  const auto sort_marks = [&] {
    std::stable_sort(parts.begin() + static_cast<ptrdiff_t>(marks), parts.end(),
                     [](const FormPart& a, const FormPart& b) { return a.ccc < b.ccc; });
  };
  for (const char32_t c : text) {
    expanded.clear();
    if (hf_decomposes(c)) {
      append_decomposition(expanded, form, c);
    } else {
      expanded.push_back(c);
    }
    int change = 0;
    for (const char32_t part : expanded) {
      const uint8_t ccc = hf_combining_class(part);
      if (ccc == 0) {
        sort_marks();
        marks = parts.size() + 1;
      }
      parts.push_back({part, change, ccc});
      change = 1;
    }
  }
  sort_marks();
  return parts;
}

// Joins each starter with what may compose with it. A composite replaces what its parts replaced together.
void compose(std::vector<FormPart>& parts) {
  std::vector<FormPart> out;
  out.reserve(parts.size());
  size_t starter = SIZE_MAX;  // index in `out`
  int last_ccc = -1;          // of what stands between the starter and the present character; -1: nothing
  for (const FormPart& part : parts) {
    if (starter != SIZE_MAX && last_ccc < part.ccc) {
      const char32_t made = compose_pair(out[starter].c, part.c);
      if (made != 0) {
        out[starter].c = made;
        out[starter].change += part.change - 1;
        continue;
      }
    }
    if (part.ccc == 0) {
      starter = out.size();
      last_ccc = -1;
    } else if (starter != SIZE_MAX) {
      last_ccc = part.ccc;
    }
    out.push_back(part);
  }
  parts = std::move(out);
}

class UnicodeNormalizer : public Normalizer {
 public:
  explicit UnicodeNormalizer(NormalForm form) : form_(form) {}
  Status normalize(AlignedText& text) const override {
    normalize_unicode(text, form_);
    return ok_status();
  }

 private:
  NormalForm form_;
};

bool all_inert(std::string_view text, NormalForm form) {
  for (size_t pos = 0; pos < text.size();) {
    if (static_cast<uint8_t>(text[pos]) < 0x80) {
      ++pos;
    } else if (!is_inert(form, next_char(text, pos))) {
      return false;
    }
  }
  return true;
}

}  // namespace

void normalize_unicode(AlignedText& text, NormalForm form) {
  if (all_inert(text.text(), form)) return;
  std::vector<FormPart> parts = decompose(to_utf32(text.text()), form);
  if (composes(form)) compose(parts);
  std::vector<CharChange> changes;
  changes.reserve(parts.size());
  for (const FormPart& part : parts) changes.push_back({part.c, part.change});
  apply_changes(text, changes);
}

std::unique_ptr<Normalizer> make_unicode_normalizer(NormalForm form) {
  return std::make_unique<UnicodeNormalizer>(form);
}

}  // namespace skua::text
