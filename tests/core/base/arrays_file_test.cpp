#include "base/arrays_file.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace poprt {
namespace {

using namespace std::string_literals;

std::map<std::string, Tensor> parse(const std::string& bytes) {
  return parse_pickled_arrays(std::as_bytes(std::span(bytes)), "d.pickle");
}

std::string message_of(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const Error& e) {
    return e.message();
  }
  return "no error";
}

void expect_refused(const std::string& bytes, std::string_view fact) {
  const std::string message = message_of(bytes);
  EXPECT_NE(message.find(fact), message.npos) << message;
  EXPECT_NE(message.find("'d.pickle'"), message.npos) << message;
  EXPECT_EQ(message.find('\n'), message.npos) << message;
}

std::string text(const std::string& s) { return "\x8c"s + static_cast<char>(s.size()) + s; }
std::string call(const std::string& module, const std::string& name) {
  return text(module) + text(name) + "\x93"s;
}
std::string type(const std::string& code, const std::string& order = "<") {
  return call("numpy", "dtype") + text(code) + "\x89\x88\x87R"s + "(K\x03" + text(order) +
         "NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"s;
}
// As NumPy pickles an array in protocol 4.
std::string array(const std::string& shape, const std::string& dtype, const std::string& data,
                  bool columns_first = false) {
  return call("numpy.core.multiarray", "_reconstruct") + call("numpy", "ndarray") + "K\x00\x85"s +
         "C\x01"s + "b\x87R(K\x01"s + shape + dtype + (columns_first ? "\x88"s : "\x89"s) + "C"s +
         static_cast<char>(data.size()) + data + "tb"s;
}
std::string dict(const std::string& name, const std::string& value) {
  return "\x80\x04}"s + text(name) + value + "s."s;
}
const std::string kTwoByThree = "K\x02K\x03\x86"s;

TEST(PickledArrays, HaveTheirShapeTypeAndValues) {
  const auto arrays = parse(dict("x", array(kTwoByThree, type("i1"), "\x01\x02\x03\x04\x05\x06")));
  ASSERT_EQ(arrays.size(), 1u);
  const Tensor& x = arrays.at("x");
  EXPECT_EQ(x.dtype(), DType::s8);
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_EQ(x.to_int64s(), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
}

TEST(PickledArrays, OfColumnsComeInRows) {
  const auto arrays =
      parse(dict("x", array(kTwoByThree, type("u1"), "\x01\x04\x02\x05\x03\x06", true)));
  EXPECT_EQ(arrays.at("x").to_int64s(), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
}

TEST(PickledArrays, RefuseWhatIsNoneByOneLine) {
  expect_refused("", "it is empty");
  expect_refused("\x80\x04"s, "it ends early");
  expect_refused("hello world", "");
  expect_refused("\x80\x04]."s, "expected a dict");
  expect_refused(dict("x", text("y")), "'x' is no NumPy array");
  expect_refused(dict("x", "K\x05"), "'x' is no NumPy array");
  expect_refused("\x80\x04}K\x05K\x05s."s, "a key of the dict is no text");
  expect_refused("\x80\x09}."s, "newer protocol");
  expect_refused("\x80\x04h\x07."s, "names a value that it has not made");
  expect_refused("\x80\x04s."s, "its stack is empty");
  expect_refused("\x80\x04u."s, "a mark is missing");
  expect_refused("\x80\x04Q."s, "0x51");
}

TEST(PickledArrays, NeverCallAnything) {
  // cos\nsystem\n(S'...'\ntR. and the like.
  expect_refused("cos\nsystem\n(X\x04\0\0\0lstR."s, "'os.system'");
  expect_refused("\x80\x04" + call("posix", "system") + text("touch /tmp/x") + "\x85R."s,
                 "'posix.system'");
  expect_refused("\x80\x04" + call("builtins", "eval") + text("1") + "\x85R."s, "'builtins.eval'");
  expect_refused("\x80\x04" + call("numpy", "load") + text("x") + "\x85R."s, "'numpy.load'");
  expect_refused("\x80\x04" + call("numpy", "ndarray") + text("x") + "\x85R."s, "numpy.ndarray");
  expect_refused("\x80\x04" + text("x") + ")R."s, "calls what is no function");
}

TEST(PickledArrays, RefuseDamagedArrays) {
  const std::string six = "\x01\x02\x03\x04\x05\x06";
  expect_refused(dict("x", array(kTwoByThree, type("f4"), six)), "has 6 bytes, expected 24");
  expect_refused(dict("x", array(kTwoByThree, type("O8"), six)), "'O8', which is no number");
  expect_refused(dict("x", array(kTwoByThree, type("i2", ">"), six + six)), "big-endian");
  expect_refused(dict("x", array("J\xff\xff\xff\xff\x85"s, type("i1"), six)), "shape");
  // 2^60 elements of 8 bytes.
  const std::string huge = "\x8a\x08\0\0\0\0\0\0\0\x10\x8a\x08\0\0\0\0\0\0\0\x10\x86"s;
  expect_refused(dict("x", array(huge, type("f8"), six)), "shape");
  expect_refused(dict("x", array(text("x"), type("i1"), six)), "NumPy does not");
  const std::string good = dict("x", array(kTwoByThree, type("i1"), six));
  for (size_t size = 0; size < good.size(); size++)
    EXPECT_NE(message_of(good.substr(0, size)), "no error") << size;
}

TEST(PickledArrays, AreNotNestedWithoutEnd) {
  std::string deep = "\x80\x04)"s;
  for (int i = 0; i < 100000; i++) deep += '\x85';
  expect_refused(deep + ".", "nested");
}

}  // namespace
}  // namespace poprt
