// Chat templates (BUGS.md rows of kind c): right values recomputed with jinja2 3.1.6 as transformers sets it
// up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/chat_template.h"

namespace skua {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string render(std::string_view source, std::string_view variables = "{}") {
  const auto parsed = ChatTemplate::parse(source);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  if (!parsed.ok()) return "";
  const auto json = parse_json(variables);
  EXPECT_TRUE(json.ok()) << json.status().message();
  const auto out = parsed->render(*json, {.now = [] { return LocalTime{2024, 7, 9, 5, 6, 7, 0}; }});
  EXPECT_TRUE(out.ok()) << out.status().message();
  return out.ok() ? *out : "";
}

Status failure(std::string_view source, std::string_view variables = "{}") {
  const auto parsed = ChatTemplate::parse(source);
  if (!parsed.ok()) return parsed.status();
  return parsed->render(*parse_json(variables)).status();
}

constexpr std::string_view kChat =
    R"({"messages": [{"role": "system", "content": "a"}, {"role": "user", "content": "b"},
                     {"role": "assistant", "content": "c"}]})";

TEST(ChatTemplate, B028SlicesWithAStepAndNoQuietFallback) {
  EXPECT_EQ(render("{% for m in messages[::-1] %}{{ loop.index0 }}{{ m.role[0] }};{% endfor %}", kChat),
            "0a;1u;2s;");
  EXPECT_EQ(failure("line one\n{% for m in messages[::-1 %}").code(), Code::kInvalidArgument);
  EXPECT_THAT(failure("line one\n{% for m in %}").message(), HasSubstr("line 2"));
}

TEST(ChatTemplate, B029ToJsonIsPythons) {
  EXPECT_EQ(render(R"({{ v|tojson }})", R"({"v": {"b": 1, "a": "é<&>'"}})"), R"({"b": 1, "a": "é<&>'"})");
  EXPECT_EQ(render(R"({{ v|tojson(indent=2) }})", R"({"v": {"b": 1, "a": [1, 2], "e": {}}})"),
            "{\n  \"b\": 1,\n  \"a\": [\n    1,\n    2\n  ],\n  \"e\": {}\n}");
  EXPECT_EQ(
      render(R"({{ v|tojson(sort_keys=true, separators=(',', ':')) }})", R"({"v": {"b": 1, "a": [1, 2]}})"),
      R"({"a":[1,2],"b":1})");
  EXPECT_EQ(render(R"({{ v|tojson(ensure_ascii=true) }})", R"({"v": "é🌶\n"})"),
            R"("\u00e9\ud83c\udf36\n")");
}

TEST(ChatTemplate, B031BlocksTakeTheirLinesWithThem) {
  EXPECT_EQ(render("{% if true %}\n   {% set x = 1 %}\nA\n{% endif %}\nB"), "A\nB");
  EXPECT_EQ(render("a\n  {%+ if true %}b{% endif +%}\nc"), "a\n  b\nc");
  EXPECT_EQ(render("a \n {%- if true -%} \n b {%- endif %}\nc"), "abc");
  EXPECT_EQ(render("x\n"), "x");
  EXPECT_EQ(render("x\r\n\r\n"), "x\n");
}

TEST(ChatTemplate, B032RaiseExceptionIsAnErrorWithTheTemplatesWords) {
  const std::string_view alternate =
      "{% for m in messages %}\n{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}\n"
      "{{ raise_exception('roles must alternate') }}{% endif %}{{ m.content }}{% endfor %}";
  const Status status = failure(alternate, R"({"messages": [{"role": "user", "content": "1"},
      {"role": "user", "content": "2"}, {"role": "user", "content": "3"}]})");
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("roles must alternate"));
  EXPECT_THAT(status.message(), HasSubstr("line 3"));
}

TEST(ChatTemplate, B035PythonMethodsAndFilters) {
  constexpr std::string_view vars = R"({"d": {"x": 1, "y": null}, "s": "<think>a</think>b", "l": [1, 2, 3],
      "m": [{"role": "user", "n": 1}, {"role": "tool", "n": 2}]})";
  EXPECT_EQ(render("{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", vars), "x=1;y=None;");
  EXPECT_EQ(render("{% for k, v in d|items %}{{ k }}={{ v }};{% endfor %}", vars), "x=1;y=None;");
  EXPECT_EQ(render("{{ s.split('</think>')[-1] }}", vars), "b");
  EXPECT_EQ(render("{{ 'ab  '.rstrip() }}{{ 'ab'.startswith('a') }}"), "abTrue");
  EXPECT_EQ(render("{{ m|selectattr('role', 'equalto', 'tool')|map(attribute='n')|join('-') }}", vars), "2");
  EXPECT_EQ(render("{{ l|reject('odd')|list }}", vars), "[2]");
  EXPECT_EQ(render("{{ 'a' ~ 1 ~ none }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 1.0 }} {{ true }}"),
            "a1None 3 -4 2 1.0 True");
}

TEST(ChatTemplate, MacrosNamespacesLoopsAndGeneration) {
  EXPECT_EQ(render("{% macro f(a, b=2) %}[{{ a }},{{ b }}]{% endmacro %}{{ f(1) }}{{ f(1, b=3) }}"),
            "[1,2][1,3]");
  EXPECT_EQ(render("{% set ns = namespace(n=0) %}{% for i in range(9) %}{% if i == 4 %}{% break %}{% endif %}"
                   "{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}"),
            "6");
  EXPECT_EQ(
      render("{% for m in messages if m.role != 'user' %}{{ loop.index }}/{{ loop.length }} {% endfor %}",
             kChat),
      "1/2 2/2 ");
  EXPECT_EQ(render("{% macro w() %}<{{ caller() }}>{% endmacro %}{% call w() %}x{% endcall %}"), "<x>");
  EXPECT_EQ(render("{% generation %}a{% endgeneration %}b"), "ab");
  EXPECT_EQ(render("{{ strftime_now('%d %b %Y') }}"), "09 Jul 2024");
}

TEST(ChatTemplate, AssignmentsInsideALoopStayInside) {
  EXPECT_EQ(render("{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{{ x }}{% endfor %}{{ x }}"), "21");
  EXPECT_EQ(render("{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}"), "2");
}

TEST(ChatTemplate, ANameThatIsSetLaterIsUndefinedInsideOfLoopsAndMacrosBefore) {
  constexpr std::string_view vars = R"({"x": 1})";
  EXPECT_EQ(render("{% for i in [1] %}{{ x }}{% endfor %}", vars), "1");
  EXPECT_EQ(render("{% for i in [1] %}[{{ x }}]{% endfor %}{% set x = 5 %}{{ x }}", vars), "[]5");
  EXPECT_EQ(render("{{ x }}{% for i in [1] %}{{ x }}{% endfor %}{% set x = 5 %}{{ x }}", vars), "115");
  EXPECT_EQ(render("{% macro m() %}[{{ x }}]{% endmacro %}{{ m() }}{% set x = 5 %}{{ m() }}", vars), "[][5]");
  EXPECT_EQ(render("{% if false %}{% set x = 3 %}{% endif %}{{ x }}", vars), "1");
}

TEST(ChatTemplate, BlocksRenderInPlaceAndSeeWhatTheTemplateSet) {
  constexpr std::string_view vars = R"({"x": 1})";
  EXPECT_EQ(render("{% block a %}{{ x }}{% endblock %}{% set x = 8 %}{% block b %}{{ x }}{% endblock b %}{{ "
                   "self.a() }}",
                   vars),
            "188");
  EXPECT_EQ(render("{% for x in [2] %}{% block a %}{{ x }}{% endblock %}{% block b scoped %}{{ x }}{% "
                   "endblock %}{% endfor %}",
                   vars),
            "12");
  EXPECT_THAT(failure("{% block a %}{% endblock %}\n{% block a %}{% endblock %}").message(),
              HasSubstr("line 2"));
  EXPECT_EQ(failure("{% block a %}{{ self.a() }}{% endblock %}").code(), Code::kResourceExhausted);
}

TEST(ChatTemplate, TagsThatLoadTemplatesFailOnlyWhereTheyAreReached) {
  EXPECT_EQ(render("{% if false %}{% include 'a' %}{% extends 'b' %}{% import 'c' as d %}{% endif %}x"), "x");
  for (const std::string tag : {"include 'a'", "extends 'a'", "import 'a' as b", "from 'a' import b"}) {
    const Status status = failure("\n{% " + tag + " %}");
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("line 2"));
    EXPECT_THAT(status.message(), HasSubstr(tag.substr(0, tag.find(' '))));
  }
}

TEST(ChatTemplate, RandomAndAutoescapeAreRefusedByNameAndDoIsUnknownAsInTransformers) {
  EXPECT_THAT(failure("\n{{ [1]|random }}").message(), AllOf(HasSubstr("line 2"), HasSubstr("'random'")));
  EXPECT_EQ(failure("{% autoescape true %}{% endautoescape %}").code(), Code::kUnsupported);
  EXPECT_THAT(failure("\n{% autoescape true %}{% endautoescape %}").message(),
              AllOf(HasSubstr("line 2"), HasSubstr("'autoescape'")));
  EXPECT_EQ(render("{% autoescape false %}<{% endautoescape %}"), "<");
  EXPECT_THAT(failure("{% do 1 %}").message(), HasSubstr("unknown tag 'do'"));
}

TEST(ChatTemplate, TextMarkedAsSafeEscapesWhatIsAddedToItOrIsRefused) {
  EXPECT_EQ(render("{{ '<a>' + ('<b>'|safe) }}"), "&lt;a&gt;<b>");
  EXPECT_EQ(render("{{ '<a>' ~ ('<b>'|safe) }}"), "<a><b>");
  EXPECT_THAT(failure("\n{{ ('%s'|safe) % '<' }}").message(),
              AllOf(HasSubstr("line 2"), HasSubstr("escaped")));
  EXPECT_THAT(failure("{{ ('a'|safe).replace('a', '<') }}").message(), HasSubstr("'replace'"));
}

TEST(ChatTemplate, ALoopsConditionSeesWhatItsBodyChanged) {
  EXPECT_EQ(render("{% set ns = namespace(c=0) %}{% for i in [3, 1, 2] if ns.c < 2 %}{% set ns.c = ns.c + 1 "
                   "%}{{ i }}{% endfor %}"),
            "31");
}

TEST(ChatTemplate, UnknownFiltersAreFoundBeforeTheyAreReachedOutsideOfIf) {
  EXPECT_THAT(failure("{% for i in [] %}\n{{ i|nosuch }}{% endfor %}").message(), HasSubstr("line 2"));
  EXPECT_EQ(render("{% if false %}{{ 1|nosuch }}{% endif %}x"), "x");
}

TEST(ChatTemplate, ListsAndMappingsCannotBeChanged) {
  EXPECT_THAT(failure("{{ l.append(1) }}", R"({"l": []})").message(), HasSubstr("unsafe"));
  EXPECT_THAT(failure("{{ d.update(a=1) }}", R"({"d": {}})").message(), HasSubstr("unsafe"));
  EXPECT_THAT(failure("{{ ''.__class__.x }}").message(), HasSubstr("unsafe"));
}

TEST(ChatTemplate, ErrorsNameTheLineAndTheConstruct) {
  EXPECT_THAT(failure("\n\n{{ x|nosuch }}").message(), HasSubstr("line 3"));
  EXPECT_THAT(failure("\n\n{{ x|nosuch }}").message(), HasSubstr("nosuch"));
  EXPECT_THAT(failure("{{ a.b.c }}").message(), HasSubstr("'a' is undefined"));
  EXPECT_THAT(failure("a\n{% include 'x' %}").message(), HasSubstr("include"));
  EXPECT_THAT(failure("a\n{% frobnicate %}").message(), HasSubstr("frobnicate"));
  EXPECT_THAT(failure("{% if x %}").message(), HasSubstr("endif"));
  EXPECT_THAT(failure("{{ 'abc }}").message(), HasSubstr("string is not closed"));
  EXPECT_THAT(failure("{{ 1 + 'a' }}").message(), HasSubstr("unsupported operand"));
}

TEST(ChatTemplate, HostileTemplatesEndWithinTheirBounds) {
  const std::string deep = std::string(20000, '(') + "1" + std::string(20000, ')');
  EXPECT_FALSE(failure("{{ " + deep + " }}").ok());
  std::string chain = "1";
  for (int i = 0; i < 100000; ++i) chain += "+1";
  EXPECT_FALSE(failure("{{ " + chain + " }}").ok());
  std::string nested;
  for (int i = 0; i < 5000; ++i) nested += "{% if 1 %}";
  EXPECT_FALSE(failure(nested).ok());
  EXPECT_EQ(failure("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}").code(), Code::kResourceExhausted);
  EXPECT_EQ(
      failure("{% for a in range(99999) %}{% for b in range(99999) %}{{ a }}{% endfor %}{% endfor %}").code(),
      Code::kResourceExhausted);
  EXPECT_FALSE(failure("{{ 'a' * 1000000000000 }}").ok());
  EXPECT_FALSE(failure("{{ range(1000000000)|list }}").ok());
  EXPECT_FALSE(failure("{{ 'a'.ljust(1000000000000) }}").ok());
  EXPECT_FALSE(failure("{{ '%1000000000d' % 1 }}").ok());
  EXPECT_FALSE(
      failure(
          "{% set ns = namespace(x=1) %}{% for i in range(1000) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}"
          "{{ ns.x }}")
          .ok());
  EXPECT_FALSE(
      failure(
          "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}"
          "{{ ns.x }}")
          .ok());
}

TEST(ChatTemplate, ANamespaceThatHoldsItselfIsFreed) {
  EXPECT_EQ(render("{% set ns = namespace() %}{% set ns.me = ns %}{% set ns.l = [ns] %}ok"), "ok");
}

}  // namespace
}  // namespace skua
