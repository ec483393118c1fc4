// Statements. Source of the grammar: jinja2 3.1, parser.py and ext.py (loop controls), and the generation tag
// of transformers.
#include "text/jinja/parser.h"

#include <algorithm>
#include <initializer_list>

#include "text/jinja/expression_parser.h"
#include "text/jinja/frames.h"

namespace skua::jinja {
namespace {

constexpr int kMaxBlockNesting = 100;

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : p_(std::move(tokens)) {}

  Result<Body> run() { return body({}); }

 private:
  using StmtPtr = std::unique_ptr<Stmt>;
  using Ends = std::initializer_list<std::string_view>;

  StmtPtr make(StmtKind kind) const {
    auto stmt = std::make_unique<Stmt>();
    stmt->kind = kind;
    stmt->line = p_.current().line;
    return stmt;
  }

  // Statements up to a tag named in `ends` (left for the caller, behind its {%), or to the end of the
  // template.
  Result<Body> body(Ends ends) {
    Body out;
    if (++depth_ > kMaxBlockNesting) return p_.error("tags are nested too deeply");
    while (true) {
      const Token& token = p_.current();
      if (token.kind == TokenKind::kEnd) {
        if (ends.size() > 0) return p_.error("expected {% " + std::string(*(ends.end() - 1)) + " %}");
        break;
      }
      if (token.kind == TokenKind::kText) {
        StmtPtr text = make(StmtKind::kText);
        text->text = token.value;
        out.push_back(std::move(text));
        p_.next();
      } else if (token.kind == TokenKind::kVariableBegin) {
        SKUA_ASSIGN_OR_RETURN(StmtPtr print, print_tag());
        out.push_back(std::move(print));
      } else {
        p_.next();  // {%
        if (std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return p_.is_name(end); }))
          break;
        SKUA_ASSIGN_OR_RETURN(StmtPtr stmt, statement());
        out.push_back(std::move(stmt));
      }
    }
    --depth_;
    return out;
  }

  Result<StmtPtr> print_tag() {
    p_.next();
    StmtPtr out = make(StmtKind::kPrint);
    SKUA_ASSIGN_OR_RETURN(out->expr, p_.tuple(ExpressionParser::Conditions::kYes));
    if (p_.current().kind != TokenKind::kVariableEnd) return p_.error("expected '}}'");
    p_.next();
    return out;
  }

  Status end_tag() {
    if (p_.current().kind != TokenKind::kBlockEnd) return p_.error("expected '%}'");
    p_.next();
    return ok_status();
  }

  // The end of a tag that a body follows.
  Status begin_body() {
    p_.skip_operator(":");
    return end_tag();
  }

  // Behind a body: its closing name, then %}.
  Status close() {
    p_.next();
    return end_tag();
  }

  Result<StmtPtr> statement() {
    if (p_.current().kind != TokenKind::kName) return p_.error("expected a tag name");
    const std::string name = p_.current().value;
    StmtPtr out = make(StmtKind::kBreak);
    p_.next();
    if (name == "if") return if_tag(std::move(out));
    if (name == "for") return for_tag(std::move(out));
    if (name == "set") return set_tag(std::move(out));
    if (name == "macro") return macro_tag(std::move(out));
    if (name == "call") return call_tag(std::move(out));
    if (name == "filter") return filter_tag(std::move(out));
    if (name == "with") return with_tag(std::move(out));
    if (name == "generation") return generation_tag(std::move(out));
    if (name == "autoescape") return autoescape_tag(std::move(out));
    if (name == "block") return block_tag(std::move(out));
    if (name == "extends" || name == "include") return loader_tag(std::move(out), name);
    if (name == "import") return import_tag(std::move(out));
    if (name == "from") return from_tag(std::move(out));
    if (name == "print") return print_statement(std::move(out));
    if (name == "break" || name == "continue") {
      out->kind = name == "break" ? StmtKind::kBreak : StmtKind::kContinue;
      if (loops_ == 0) return p_.error("'" + name + "' outside of a loop");
      SKUA_RETURN_IF_ERROR(end_tag());
      return out;
    }
    return invalid_argument("[template] line " + std::to_string(out->line) + ": unknown tag '" + name + "'");
  }

  Result<StmtPtr> print_statement(StmtPtr out) {
    out->kind = StmtKind::kPrint;
    SKUA_ASSIGN_OR_RETURN(out->expr, p_.tuple(ExpressionParser::Conditions::kYes));
    SKUA_RETURN_IF_ERROR(end_tag());
    return out;
  }

  Result<StmtPtr> if_tag(StmtPtr out) {
    out->kind = StmtKind::kIf;
    while (true) {
      SKUA_ASSIGN_OR_RETURN(ExprPtr test, p_.tuple(ExpressionParser::Conditions::kNo));
      SKUA_RETURN_IF_ERROR(begin_body());
      SKUA_ASSIGN_OR_RETURN(Body then, body({"elif", "else", "endif"}));
      out->branches.emplace_back(std::move(test), std::move(then));
      if (!p_.skip_name("elif")) break;
    }
    if (p_.skip_name("else")) {
      SKUA_RETURN_IF_ERROR(begin_body());
      SKUA_ASSIGN_OR_RETURN(out->otherwise, body({"endif"}));
    }
    SKUA_RETURN_IF_ERROR(close());
    return out;
  }

  Result<StmtPtr> for_tag(StmtPtr out) {
    out->kind = StmtKind::kFor;
    SKUA_ASSIGN_OR_RETURN(out->target, p_.target());
    if (!p_.skip_name("in")) return p_.error("expected 'in'");
    SKUA_ASSIGN_OR_RETURN(out->expr, p_.tuple(ExpressionParser::Conditions::kNo));
    if (p_.skip_name("if")) {
      SKUA_ASSIGN_OR_RETURN(out->condition, p_.expression());
    }
    out->recursive = p_.skip_name("recursive");
    SKUA_RETURN_IF_ERROR(begin_body());
    ++loops_;
    SKUA_ASSIGN_OR_RETURN(out->body, body({"else", "endfor"}));
    --loops_;
    if (p_.skip_name("else")) {
      SKUA_RETURN_IF_ERROR(begin_body());
      SKUA_ASSIGN_OR_RETURN(out->otherwise, body({"endfor"}));
    }
    SKUA_RETURN_IF_ERROR(close());
    return out;
  }

  Result<StmtPtr> set_tag(StmtPtr out) {
    SKUA_ASSIGN_OR_RETURN(out->target, p_.target());
    if (p_.skip_operator("=")) {
      out->kind = StmtKind::kSet;
      SKUA_ASSIGN_OR_RETURN(out->expr, p_.tuple(ExpressionParser::Conditions::kYes));
      SKUA_RETURN_IF_ERROR(end_tag());
      return out;
    }
    out->kind = StmtKind::kSetBlock;
    if (p_.is_operator("|")) {
      SKUA_ASSIGN_OR_RETURN(out->expr, p_.filter_chain(nullptr, true));
    }
    SKUA_RETURN_IF_ERROR(begin_body());
    SKUA_ASSIGN_OR_RETURN(out->body, body({"endset"}));
    SKUA_RETURN_IF_ERROR(close());
    return out;
  }

  Result<std::vector<Param>> params() {
    std::vector<Param> out;
    SKUA_RETURN_IF_ERROR(p_.expect_operator("("));
    while (!p_.is_operator(")")) {
      Param param;
      SKUA_ASSIGN_OR_RETURN(param.name, p_.expect_name());
      if (p_.skip_operator("=")) {
        SKUA_ASSIGN_OR_RETURN(param.fallback, p_.expression());
      } else if (!out.empty() && out.back().fallback) {
        return p_.error("parameter without a default behind one with a default");
      }
      out.push_back(std::move(param));
      if (!p_.skip_operator(",")) break;
    }
    SKUA_RETURN_IF_ERROR(p_.expect_operator(")"));
    return out;
  }

  // A body whose loops, if any, are not those around it.
  Result<Body> detached_body(std::string_view end) {
    const int outer = std::exchange(loops_, 0);
    SKUA_ASSIGN_OR_RETURN(Body out, body({end}));
    loops_ = outer;
    SKUA_RETURN_IF_ERROR(close());
    return out;
  }

  Result<StmtPtr> macro_tag(StmtPtr out) {
    out->kind = StmtKind::kMacro;
    SKUA_ASSIGN_OR_RETURN(out->text, p_.expect_name());
    SKUA_ASSIGN_OR_RETURN(out->params, params());
    SKUA_RETURN_IF_ERROR(begin_body());
    SKUA_ASSIGN_OR_RETURN(out->body, detached_body("endmacro"));
    return out;
  }

  Result<StmtPtr> call_tag(StmtPtr out) {
    out->kind = StmtKind::kCall;
    if (p_.is_operator("(")) {
      SKUA_ASSIGN_OR_RETURN(out->params, params());
    }
    SKUA_ASSIGN_OR_RETURN(out->expr, p_.expression());
    if (out->expr->kind != ExprKind::kCall) return p_.error("expected a call");
    SKUA_RETURN_IF_ERROR(begin_body());
    SKUA_ASSIGN_OR_RETURN(out->body, detached_body("endcall"));
    return out;
  }

  Result<StmtPtr> filter_tag(StmtPtr out) {
    out->kind = StmtKind::kFilter;
    SKUA_ASSIGN_OR_RETURN(out->expr, p_.filter_chain(nullptr, false));
    SKUA_RETURN_IF_ERROR(begin_body());
    SKUA_ASSIGN_OR_RETURN(out->body, body({"endfilter"}));
    SKUA_RETURN_IF_ERROR(close());
    return out;
  }

  Result<StmtPtr> with_tag(StmtPtr out) {
    out->kind = StmtKind::kWith;
    while (p_.current().kind != TokenKind::kBlockEnd) {
      if (!out->assignments.empty()) SKUA_RETURN_IF_ERROR(p_.expect_operator(","));
      SKUA_ASSIGN_OR_RETURN(Target target, p_.single_target());
      SKUA_RETURN_IF_ERROR(p_.expect_operator("="));
      SKUA_ASSIGN_OR_RETURN(ExprPtr value, p_.expression());
      out->assignments.emplace_back(std::move(target), std::move(value));
    }
    SKUA_RETURN_IF_ERROR(begin_body());
    SKUA_ASSIGN_OR_RETURN(out->body, body({"endwith"}));
    SKUA_RETURN_IF_ERROR(close());
    return out;
  }

  Result<StmtPtr> generation_tag(StmtPtr out) {
    out->kind = StmtKind::kGeneration;
    SKUA_RETURN_IF_ERROR(begin_body());
    SKUA_ASSIGN_OR_RETURN(out->body, detached_body("endgeneration"));
    return out;
  }

  // Only off, which is how a chat template begins: escaped text would need strings that know they are
  // escaped.
  Result<StmtPtr> autoescape_tag(StmtPtr out) {
    out->kind = StmtKind::kScope;
    SKUA_ASSIGN_OR_RETURN(const ExprPtr wanted, p_.expression());
    if (wanted->kind != ExprKind::kConst || truthy(wanted->value)) {
      return unsupported("[template] line " + std::to_string(out->line) +
                         ": tag 'autoescape' is supported with the constant false only");
    }
    SKUA_RETURN_IF_ERROR(begin_body());
    SKUA_ASSIGN_OR_RETURN(out->body, body({"endautoescape"}));
    SKUA_RETURN_IF_ERROR(close());
    return out;
  }

  Result<StmtPtr> block_tag(StmtPtr out) {
    out->kind = StmtKind::kBlock;
    SKUA_ASSIGN_OR_RETURN(out->text, p_.expect_name());
    out->scoped = p_.skip_name("scoped");
    out->required = p_.skip_name("required");
    SKUA_RETURN_IF_ERROR(begin_body());
    const int outer = std::exchange(loops_, 0);
    SKUA_ASSIGN_OR_RETURN(out->body, body({"endblock"}));
    loops_ = outer;
    for (const auto& inner : out->body) {
      const bool blank =
          inner->kind == StmtKind::kText && inner->text.find_first_not_of(" \t\r\n\f\v") == std::string::npos;
      if (out->required && !blank) return p_.error("a required block can only hold comments and whitespace");
    }
    p_.next();
    p_.skip_name(out->text);
    SKUA_RETURN_IF_ERROR(end_tag());
    return out;
  }

  // Tags that would load another template parse as in Jinja2 and fail when they are reached: there is none to
  // load.
  Result<StmtPtr> loader_tag(StmtPtr out, const std::string& name) {
    out->kind = StmtKind::kLoader;
    out->text = name;
    SKUA_ASSIGN_OR_RETURN(out->expr, p_.expression());
    if (name == "include" && p_.is_name("ignore") && p_.ahead().value == "missing") {
      p_.next();
      p_.next();
    }
    if (name == "include") skip_context();
    SKUA_RETURN_IF_ERROR(end_tag());
    return out;
  }

  // "with context" or "without context".
  bool skip_context() {
    if (!(p_.is_name("with") || p_.is_name("without")) || p_.ahead().value != "context") return false;
    p_.next();
    p_.next();
    return true;
  }

  Status add_name(Stmt& out) {
    Target target;
    SKUA_ASSIGN_OR_RETURN(target.name, p_.expect_name());
    out.assignments.emplace_back(std::move(target), nullptr);
    return ok_status();
  }

  Result<StmtPtr> import_tag(StmtPtr out) {
    out->kind = StmtKind::kLoader;
    out->text = "import";
    SKUA_ASSIGN_OR_RETURN(out->expr, p_.expression());
    if (!p_.skip_name("as")) return p_.error("expected 'as'");
    SKUA_RETURN_IF_ERROR(add_name(*out));
    skip_context();
    SKUA_RETURN_IF_ERROR(end_tag());
    return out;
  }

  Result<StmtPtr> from_tag(StmtPtr out) {
    out->kind = StmtKind::kLoader;
    out->text = "from";
    SKUA_ASSIGN_OR_RETURN(out->expr, p_.expression());
    if (!p_.skip_name("import")) return p_.error("expected 'import'");
    while (true) {
      if (!out->assignments.empty()) SKUA_RETURN_IF_ERROR(p_.expect_operator(","));
      if (skip_context()) break;
      if (p_.current().value.starts_with('_'))
        return p_.error("names that begin with an underscore cannot be imported");
      SKUA_RETURN_IF_ERROR(add_name(*out));
      if (p_.skip_name("as")) {
        out->assignments.pop_back();
        SKUA_RETURN_IF_ERROR(add_name(*out));
      }
      if (skip_context() || !p_.is_operator(",")) break;
    }
    SKUA_RETURN_IF_ERROR(end_tag());
    return out;
  }

  ExpressionParser p_;
  int depth_ = 0;
  int loops_ = 0;  // loops around the present statement that break and continue may name
};

}  // namespace

Result<Template> parse_template(std::string_view source) {
  SKUA_ASSIGN_OR_RETURN(std::vector<Token> tokens, tokenize(source));
  Template out;
  SKUA_ASSIGN_OR_RETURN(out.body, Parser(std::move(tokens)).run());
  SKUA_RETURN_IF_ERROR(settle_frames(out));
  return out;
}

}  // namespace skua::jinja
