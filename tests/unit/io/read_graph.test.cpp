// SPDX-License-Identifier: Apache-2.0
#include <strata/io/read_graph.hpp>
#include <strata/io/write_graph.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.hpp"

namespace io_read_graph_test {

using strata::errc;

constexpr std::string_view head = R"({"format":"strata-graph","version":1,"cost_unit":"ns",)";

/// A graph of two tensors and one op; `op` and `tensor` are extra keys of the last of each, `top` of the whole.
auto graph(std::string const& op = "", std::string const& tensor = "", std::string const& top = "") -> std::string
{
    return std::string(head) + top +
           R"("tensors":[{"bytes":4,"kind":"parameter"},{"name":"y","bytes":8,"kind":"activation")" + tensor + R"(}],
"ops":[{"type":"mm","phase":"forward","cost":7,"inputs":[0],"outputs":[1])" +
           op + R"(}],"targets":[1]})";
}

auto replaced(std::string text, std::string_view from, std::string_view to) -> std::string
{
    auto const at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

void check_refused(std::string_view text, errc code, std::string const& message)
{
    auto const r = strata::read_graph(text);
    CAPTURE(text.substr(0, 300));
    REQUIRE_FALSE(r.has_value());
    CHECK(r.error().message == "strata::read_graph: " + message);
    CHECK(to_string(r.error().code) == std::string(to_string(code)));
    CHECK_FALSE(r.error().limit.has_value());
}

TEST_CASE("read_graph: every key of the format arrives")
{
    auto const text = R"j({"format":"strata-graph","version":1,"name":"net","cost_unit":"us",
        "reference_peak_bytes":123,"alignment":64,
        "tensors":[{"name":"x","bytes":4096,"kind":"input"},{"bytes":0,"kind":"saved","view_of":0}],
        "ops":[{"name":"gelu#3","type":"gelu","phase":"backward","cost":1200,"workspace":5,"inputs":[0,0],
                "outputs":[1],"effects":["random","once","pure","mutates(1)"],"backward_of":0}],
        "targets":[1]})j";
    strata::graph_file g;
    g.name = "net";
    g.cost_unit = "us";
    g.reference_peak_bytes = 123;
    g.alignment = 64;
    g.tensors = {{"x", 4096, strata::tensor_kind::input, strata::none}, {"", 0, strata::tensor_kind::saved, 0}};
    g.ops = {{"gelu#3",
              "gelu",
              strata::phase::backward,
              1200,
              5,
              {0, 0},
              {1},
              strata::effect::random | strata::effect::once,
              {1},
              0}};
    g.targets = {1};
    std::vector<std::string> warnings;
    CHECK(strata::read_graph(text, &warnings).value() == g);
    CHECK(warnings.empty());
}

TEST_CASE("read_graph: keys may stand in any order, so an index may come before what it names")
{
    auto const r = strata::read_graph(R"({"targets":[0],"ops":[{"outputs":[0],"inputs":[],"cost":1,"phase":"other",
        "type":""}],"tensors":[{"kind":"activation","bytes":1}],"cost_unit":"","version":1,"format":"strata-graph"})");
    CHECK(r.value().targets == std::vector<strata::tensor_id>{0});
}

TEST_CASE("read_graph: whole numbers may be written with a point or an exponent, and are exact")
{
    auto const cost = [](std::string const& n) {
        return strata::read_graph(replaced(graph(), "\"cost\":7", "\"cost\":" + n)).value().ops.front().cost;
    };
    CHECK(cost("1e3") == 1000);
    CHECK(cost("12.0") == 12);
    CHECK(cost("-0") == 0);
    CHECK(cost("9007199254740993") == 9007199254740993);
    CHECK(cost("9223372036854775807") == strata::max_cost);
}

TEST_CASE("read_graph: unknown keys are ignored, each kind with one warning that names the first place")
{
    std::vector<std::string> warnings;
    auto const text = graph(R"(,"colour":[{"deep":[1,{"x":null}]},2],"cost_model":"a")",
                            R"(,"dtype":"f16")",
                            R"("author":{"name":"n"},"odd key":1,)");
    auto const twice =
        replaced(text, R"({"bytes":4,"kind":"parameter"})", R"({"dtype":1.5,"bytes":4,"kind":"parameter"})");
    auto const r = strata::read_graph(twice, &warnings);
    CHECK(r.value() == strata::read_graph(graph()).value());
    CHECK(warnings == std::vector<std::string>{
                          "unknown key author is ignored",
                          "unknown key \"odd key\" is ignored",
                          "unknown key tensors[0].dtype (and 1 more like it) is ignored",
                          "unknown key ops[0].colour is ignored",
                          "unknown key ops[0].cost_model is ignored",
                      });
}

TEST_CASE("read_graph: unknown keys without number do not pile up")
{
    std::string many;
    for (int i = 0; i < 1000; ++i) {
        many += "\"k" + std::to_string(i) + "\":0,";
    }
    std::vector<std::string> warnings;
    REQUIRE(strata::read_graph(graph("", "", many), &warnings).has_value());
    CHECK(warnings.size() == 20);
}

TEST_CASE("read_graph: broken syntax is named by line, column and byte")
{
    check_refused("", errc::malformed_file, "the text is empty, a JSON object is needed");
    check_refused(" \n\t ", errc::malformed_file, "the text is empty, a JSON object is needed");
    check_refused("{\n \"format\" \"x\"}",
                  errc::malformed_file,
                  R"(line 2, column 11 (byte 12): the text is not JSON: found "\"x\"" instead of ':')");
    check_refused("hello", errc::malformed_file, "line 1, column 1 (byte 0): the text is not JSON: found \"h\"");
    check_refused("{\"version\":\n trux}",
                  errc::malformed_file,
                  "line 2, column 2 (byte 13): the text is not JSON: found \"trux\"");
    check_refused("{\"version\":1 1}",
                  errc::malformed_file,
                  "line 1, column 14 (byte 13): the text is not JSON: found \"1\" instead of '}'");
    auto const whole = graph();
    check_refused(whole + "x", errc::malformed_file, "line 2, column 91 (byte 231): the text is not JSON: found \"x\"");
    check_refused(whole + "{",
                  errc::malformed_file,
                  "line 2, column 91 (byte 231): the text is not JSON: found \"{\" instead of end of input");
    auto const cut = whole.substr(0, 100);
    check_refused(cut, errc::malformed_file, "line 1, column 101 (byte 100): the text ends too early, as if cut off");
}

TEST_CASE("read_graph: a file cut off anywhere is refused")
{
    auto const whole = graph(R"j(,"effects":["random","mutates(1)"])j", R"(,"view_of":0)", R"("other":[[{}]],)");
    REQUIRE(strata::read_graph(whole).has_value());
    for (std::size_t n = 0; n < whole.size(); ++n) {
        auto const r = strata::read_graph(whole.substr(0, n));
        CAPTURE(n);
        REQUIRE_FALSE(r.has_value());
        CHECK(r.error().code == errc::malformed_file);
    }
}

TEST_CASE("read_graph: strings must be UTF-8")
{
    check_refused(replaced(graph(), "\"mm\"", "\"m\xff\""),
                  errc::malformed_file,
                  "line 2, column 18 (byte 158): a string is not UTF-8");
    check_refused(replaced(graph(), "\"mm\"", "\"m\xc3\""),
                  errc::malformed_file,
                  "line 2, column 19 (byte 159): a string is not UTF-8");
    check_refused(replaced(graph(), "\"mm\"", R"("m\ud800")"),
                  errc::malformed_file,
                  "line 2, column 24 (byte 164): a string has a broken \\u escape");
    check_refused(replaced(graph(), "\"mm\"", "\"m\n\""),
                  errc::malformed_file,
                  "line 2, column 18 (byte 158): a string holds a raw control character, write it as an escape");
    auto const odd = replaced(graph(), "\"mm\"", R"("m\u00e9\ud83d\ude00\u0000")");
    CHECK(strata::read_graph(odd).value().ops.front().type == std::string("m\xc3\xa9\xf0\x9f\x98\x80\0", 8));
}

TEST_CASE("read_graph: what is not a graph of this version is refused")
{
    check_refused("[]", errc::malformed_file, "the document is an array, which may not stand here");
    check_refused("3", errc::malformed_file, "the document is 3, must be an object");
    check_refused("{}", errc::malformed_file, R"(the document lacks the key "format", add it)");
    check_refused(replaced(graph(), "strata-graph", "strata-plan"),
                  errc::malformed_file,
                  R"(format is the string "strata-plan", must be "strata-graph")");
    check_refused(replaced(graph(), "\"strata-graph\"", "null"),
                  errc::malformed_file,
                  R"(format is null, must be "strata-graph")");
    check_refused(replaced(graph(), "\"version\":1", "\"version\":2"),
                  errc::malformed_file,
                  "version is 2, but this reader knows version 1 only; write the file with a matching release");
    check_refused(replaced(graph(), "\"version\":1", "\"version\":-1"),
                  errc::malformed_file,
                  "version is -1, must be a version number, from 0 to 9223372036854775807");
    check_refused(replaced(graph(), "\"version\":1", "\"version\":\"1\""),
                  errc::malformed_file,
                  "version is the string \"1\", must be a version number, from 0 to 9223372036854775807");
}

TEST_CASE("read_graph: a missing key is named with its owner")
{
    auto const without = [](std::string_view part) { return replaced(graph(), part, ""); };
    check_refused(
        without(R"("cost_unit":"ns",)"), errc::malformed_file, R"(the document lacks the key "cost_unit", add it)");
    check_refused(
        without(R"(,"targets":[1])"), errc::malformed_file, R"(the document lacks the key "targets", add it)");
    check_refused(without(R"("bytes":4,)"), errc::malformed_file, R"(tensors[0] lacks the key "bytes", add it)");
    check_refused(
        without(R"(,"kind":"activation")"), errc::malformed_file, R"(tensors[1] lacks the key "kind", add it)");
    check_refused(without(R"("type":"mm",)"), errc::malformed_file, R"(ops[0] lacks the key "type", add it)");
    check_refused(without(R"("phase":"forward",)"), errc::malformed_file, R"(ops[0] lacks the key "phase", add it)");
    check_refused(without(R"("cost":7,)"), errc::malformed_file, R"(ops[0] lacks the key "cost", add it)");
    check_refused(without(R"("inputs":[0],)"), errc::malformed_file, R"(ops[0] lacks the key "inputs", add it)");
    check_refused(without(R"(,"outputs":[1])"), errc::malformed_file, R"(ops[0] lacks the key "outputs", add it)");
}

TEST_CASE("read_graph: a key given twice is refused, not overwritten")
{
    check_refused(graph(R"(,"cost":8)"), errc::malformed_file, "ops[0].cost is given twice in one object, remove one");
    check_refused(graph("", "", R"("ops":[],)"), errc::malformed_file, "ops is given twice in one object, remove one");
}

TEST_CASE("read_graph: a value of the wrong type is named by its path")
{
    auto const with = [](std::string_view from, std::string_view to) { return replaced(graph(), from, to); };
    check_refused(with("\"cost\":7", "\"cost\":\"7\""),
                  errc::malformed_file,
                  "ops[0].cost is the string \"7\", must be a whole number in the graph's cost unit, from 0 to "
                  "9223372036854775807");
    check_refused(with("\"cost\":7", "\"cost\":7.5"),
                  errc::malformed_file,
                  "ops[0].cost is 7.5, must be a whole number in the graph's cost unit, from 0 to 9223372036854775807");
    check_refused(
        with("\"cost\":7", "\"cost\":[7]"), errc::malformed_file, "ops[0].cost is an array, which may not stand here");
    check_refused(with("\"bytes\":8", "\"bytes\":true"),
                  errc::malformed_file,
                  "tensors[1].bytes is true, must be a whole number of bytes, from 0 to 9223372036854775807");
    check_refused(with("\"inputs\":[0]", "\"inputs\":0"), errc::malformed_file, "ops[0].inputs is 0, must be an array");
    check_refused(with("\"inputs\":[0]", "\"inputs\":{}"),
                  errc::malformed_file,
                  "ops[0].inputs is an object, which may not stand here");
    check_refused(with("\"inputs\":[0]", "\"inputs\":[0,[1]]"),
                  errc::malformed_file,
                  "ops[0].inputs[1] is an array, which may not stand here");
    check_refused(with("\"inputs\":[0]", "\"inputs\":[0,0,\"y\"]"),
                  errc::malformed_file,
                  "ops[0].inputs[2] is the string \"y\", must be the index of a tensor, from 0 to 99999999");
    check_refused(with("\"forward\"", "1"),
                  errc::malformed_file,
                  "ops[0].phase is 1, must be a phase (forward, backward, other)");
    check_refused(with("\"y\"", "null"), errc::malformed_file, "tensors[1].name is null, must be a string");
    check_refused(std::string(head) + R"("tensors":[3])",
                  errc::malformed_file,
                  "tensors[0] is 3, must be an object that describes a tensor");
    check_refused(std::string(head) + R"("tensors":[[]])",
                  errc::malformed_file,
                  "tensors[0] is an array, which may not stand here");
    check_refused(std::string(head) + R"("ops":["a"])",
                  errc::malformed_file,
                  "ops[0] is the string \"a\", must be an object that describes an op");
    check_refused(
        std::string(head) + R"("ops":{})", errc::malformed_file, "ops is an object, which may not stand here");
    check_refused(graph(R"(,"effects":"random")"),
                  errc::malformed_file,
                  "ops[0].effects is the string \"random\", must be an array");
    check_refused(graph(R"(,"effects":[1])"),
                  errc::malformed_file,
                  "ops[0].effects[0] is 1, must be an effect (pure, random, stateful, nondeterministic, collective, "
                  "once, or mutates(t) with a tensor's index)");
}

TEST_CASE("read_graph: an unknown word is refused with the words there are")
{
    check_refused(replaced(graph(), "\"activation\"", "\"activations\""),
                  errc::malformed_graph,
                  "tensors[1].kind is \"activations\", must be a tensor kind (input, parameter, parameter_gradient, "
                  "state, activation, saved, gradient)");
    check_refused(replaced(graph(), "\"forward\"", "\"Forward\""),
                  errc::malformed_graph,
                  "ops[0].phase is \"Forward\", must be a phase (forward, backward, other)");
    check_refused(graph(R"(,"effects":["random","rnd"])"),
                  errc::malformed_graph,
                  "ops[0].effects[1] is \"rnd\", must be an effect (pure, random, stateful, nondeterministic, "
                  "collective, once, or mutates(t) with a tensor's index)");
    for (auto const* effect : {"mutates()", "mutates(x)", "mutates(1", "mutates(-1)", "mutates(1,0)", "mutates( 1)"}) {
        auto const r = strata::read_graph(graph(R"(,"effects":[")" + std::string(effect) + R"("])"));
        REQUIRE_FALSE(r.has_value());
        CHECK(r.error().code == errc::malformed_graph);
    }
}

TEST_CASE("read_graph: negative numbers are refused")
{
    check_refused(replaced(graph(), "\"cost\":7", "\"cost\":-7"),
                  errc::malformed_graph,
                  "ops[0].cost is -7, must be a whole number in the graph's cost unit, from 0 to 9223372036854775807");
    check_refused(replaced(graph(), "\"bytes\":8", "\"bytes\":-1"),
                  errc::malformed_graph,
                  "tensors[1].bytes is -1, must be a whole number of bytes, from 0 to 9223372036854775807");
    check_refused(graph(R"(,"workspace":-1.0)"),
                  errc::malformed_graph,
                  "ops[0].workspace is -1, must be a whole number of bytes, from 0 to 9223372036854775807");
    check_refused(replaced(graph(), "\"inputs\":[0]", "\"inputs\":[0,-1]"),
                  errc::malformed_graph,
                  "ops[0].inputs[1] is -1, must be the index of a tensor, from 0 to 99999999");
    check_refused(graph("", "", "\"alignment\":0,"),
                  errc::malformed_graph,
                  "alignment is 0, must be a whole number of bytes, from 1 to 9223372036854775807");
}

TEST_CASE("read_graph: numbers beyond 64 bits are refused")
{
    auto const cost = [](std::string const& n) { return replaced(graph(), "\"cost\":7", "\"cost\":" + n); };
    std::string const must = ", which does not fit 64 bits, must be a whole number in the graph's cost unit, from 0 to "
                             "9223372036854775807";
    check_refused(cost("9223372036854775808"), errc::overflow, "ops[0].cost is 9223372036854775808" + must);
    check_refused(cost("99999999999999999999999"), errc::overflow, "ops[0].cost is 1e+23" + must);
    check_refused(cost("-99999999999999999999999"), errc::overflow, "ops[0].cost is -1e+23" + must);
    check_refused(cost("1e300"), errc::overflow, "ops[0].cost is 1e+300" + must);
    check_refused(
        cost("1e999"), errc::overflow, "line 2, column 46 (byte 186): a number is beyond what a double can hold");
    check_refused(graph("", "", "\"reference_peak_bytes\":1e40,"),
                  errc::overflow,
                  "reference_peak_bytes is 1e+40, which does not fit 64 bits, must be a whole number of bytes, from 0 "
                  "to 9223372036854775807");
}

TEST_CASE("read_graph: indices out of range are refused, with the range")
{
    check_refused(replaced(graph(), "\"inputs\":[0]", "\"inputs\":[0,1,2]"),
                  errc::malformed_graph,
                  "ops[0].inputs[2] names tensor 2, but there are 2 tensors, counted from 0");
    check_refused(replaced(graph(), "\"outputs\":[1]", "\"outputs\":[99]"),
                  errc::malformed_graph,
                  "ops[0].outputs[0] names tensor 99, but there are 2 tensors, counted from 0");
    check_refused(replaced(graph(), "\"inputs\":[0]", "\"inputs\":[4294967296]"),
                  errc::malformed_graph,
                  "ops[0].inputs[0] is 4294967296, must be the index of a tensor, from 0 to 99999999");
    check_refused(replaced(graph(), "\"targets\":[1]", "\"targets\":[1,5]"),
                  errc::malformed_graph,
                  "targets[1] names tensor 5, but there are 2 tensors, counted from 0");
    check_refused(graph(R"(,"backward_of":1)"),
                  errc::malformed_graph,
                  "ops[0].backward_of names op 1, but there are 1 ops, counted from 0");
    check_refused(graph(R"j(,"effects":["mutates(7)"])j"),
                  errc::malformed_graph,
                  "ops[0].effects: mutates(7) names tensor 7, but there are 2 tensors, counted from 0");
    check_refused(graph("", R"(,"view_of":2)"),
                  errc::malformed_graph,
                  "tensors[1].view_of names tensor 2, but there are 2 tensors, counted from 0");
    check_refused(std::string(head) + R"("tensors":[],"ops":[],"targets":[0]})",
                  errc::malformed_graph,
                  "targets[0] names tensor 0, but there are 0 tensors");
}

TEST_CASE("read_graph: deep nesting is refused without using the stack")
{
    std::string const deep(1'000'000, '[');
    check_refused(deep, errc::malformed_file, "the document is an array, which may not stand here");
    check_refused("{\"x\":" + deep, errc::malformed_file, "x is nested deeper than 64 levels, remove the nesting");
    std::string objects;
    for (int i = 0; i < 1'000'000; ++i) {
        objects += "{\"a\":";
    }
    check_refused(objects, errc::malformed_file, "a is nested deeper than 64 levels, remove the nesting");
    std::string const at_limit = "\"x\":" + std::string(63, '[') + std::string(63, ']') + ",";
    CHECK(strata::read_graph(graph("", "", at_limit)).has_value());
}

TEST_CASE("read_graph: a promise of many things costs nothing until they come")
{
    // The text says 2^31 in every way it can, yet holds a handful of bytes.
    check_refused(replaced(graph(), "\"targets\":[1]", "\"targets\":[2147483648]"),
                  errc::malformed_graph,
                  "targets[0] is 2147483648, must be the index of a tensor, from 0 to 99999999");
}

TEST_CASE("read_graph: names in messages are escaped and cut")
{
    std::string const name(5000, 'k');
    check_refused(replaced(graph(), "\"forward\"", "\"" + name + "\""),
                  errc::malformed_graph,
                  "ops[0].phase is \"" + std::string(40, 'k') + "\"..., must be a phase (forward, backward, other)");
    check_refused(replaced(graph(), "\"forward\"", R"("a\u0001\"b")"),
                  errc::malformed_graph,
                  R"(ops[0].phase is "a\u0001\"b", must be a phase (forward, backward, other))");
}

} // namespace io_read_graph_test
