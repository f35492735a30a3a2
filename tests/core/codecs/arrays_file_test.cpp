#include "codecs/arrays_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "support/recorded_lines.h"

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
// Returns an array as NumPy pickles it in protocol 4.
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

TEST(PickledArrays, RefusesInvalidPicklesWithOneLine) {
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
  // These pickles call functions, such as cos\nsystem\n(S'...'\ntR.
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
  for (const std::string& state : {"K\x05"s, "N"s, text("a"), "}"s})
    expect_refused(
        dict("x", call("numpy.core.multiarray", "_reconstruct") + call("numpy", "ndarray") +
                      "K\x00\x85\x43\x01"s + "b\x87R"s + state + "b"s),
        "a value has a state that no array has");
  const std::string good = dict("x", array(kTwoByThree, type("i1"), six));
  for (size_t size = 0; size < good.size(); size++)
    EXPECT_NE(message_of(good.substr(0, size)), "no error") << size;
}

// Python 2's text is bytes.
TEST(PickledArrays, ByteOrdersMayBeBytes) {
  const std::string six = "\x01\x02\x03\x04\x05\x06";
  const auto of = [&](char order) {
    return call("numpy", "dtype") + text("i2") + "\x89\x88\x87R(K\x03U\x01"s + order +
           "NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"s;
  };
  EXPECT_EQ(message_of(dict("x", array(kTwoByThree, of('<'), six + six))), "no error");
  expect_refused(dict("x", array(kTwoByThree, of('>'), six + six)), "big-endian");
}

TEST(PickledArrays, NamesOfTypesMayBeginWithTheByteOrder) {
  const std::string six = "\x01\x02\x03\x04\x05\x06";
  const auto of = [&](const std::string& name) {
    return dict("x",
                array(kTwoByThree, call("numpy", "dtype") + name + "\x89\x88\x87R"s, six + six));
  };
  for (const char order : {'<', '=', '|'}) {
    EXPECT_EQ(message_of(of(text(order + "i2"s))), "no error") << order;
    EXPECT_EQ(message_of(of("U\x03"s + order + "i2"s)), "no error") << order;
  }
  EXPECT_EQ(message_of(of(text("i2"))), "no error");
  expect_refused(of(text(">i2")), "big-endian");
  expect_refused(of("U\x03>i2"s), "big-endian");
  expect_refused(of(text("!i2")), "'!i2', which is no number");
  expect_refused(of(text("")), "'', which is no number");
}

TEST(PickledArrays, LongNumbersHaveALengthOfOneByteOrFour) {
  const std::string two = "\x8a\x01\x02"s, three = "\x8b\x01\x00\x00\x00\x03"s;
  const auto arrays =
      parse(dict("x", array(two + three + "\x86", type("i1"), "\x01\x02\x03\x04\x05\x06")));
  EXPECT_EQ(arrays.at("x").shape(), (Shape{2, 3}));
}

// Returns a pickle of an array of one byte 5. It begins with `name`, writes the only dimension as
// `one` and the content as `bytes`.
std::string spelled(const std::string& one, const std::string& bytes, const std::string& name) {
  return "\x80\x05}"s + name + call("numpy.core.multiarray", "_reconstruct") +
         call("numpy", "ndarray") + "K\x00\x85\x43\x01"s + "b\x87R(K\x01"s + one + "\x85"s +
         type("u1") + "\x89"s + bytes + "tbs."s;
}

TEST(PickledArrays, NumbersTextAndBytesHaveManyForms) {
  const std::string one = "K\x01"s, five = "C\x01\x05"s, a = text("a");
  const std::string numbers[] = {one,     "M\x01\x00"s,    "J\x01\x00\x00\x00"s,
                                 "\x88"s, "\x8a\x01\x01"s, "\x8b\x02\x00\x00\x00\x01\x00"s,
                                 "I1\n"s, "I01\n"s,        "L1L\n"s,
                                 "L1\n"s};
  const std::string bytes[] = {five,
                               "B\x01\x00\x00\x00\x05"s,
                               "T\x01\x00\x00\x00\x05"s,
                               "U\x01\x05"s,
                               "\x8e\x01\x00\x00\x00\x00\x00\x00\x00\x05"s,
                               "\x96\x01\x00\x00\x00\x00\x00\x00\x00\x05"s};
  const std::string names[] = {a, "X\x01\x00\x00\x00\x61"s,
                               "\x8d\x01\x00\x00\x00\x00\x00\x00\x00\x61"s, "Va\n"s, "V\\u0061\n"s};
  const auto expect_five = [](const std::string& pickle) {
    ASSERT_EQ(message_of(pickle), "no error");
    const auto arrays = parse(pickle);
    ASSERT_EQ(arrays.size(), 1u);
    EXPECT_EQ(arrays.begin()->first, "a");
    EXPECT_EQ(arrays.begin()->second.to_int64s(), std::vector<int64_t>{5});
  };
  for (const std::string& n : numbers) expect_five(spelled(n, five, a));
  for (const std::string& b : bytes) expect_five(spelled(one, b, a));
  for (const std::string& t : names) expect_five(spelled(one, five, t));
  // Values that may be on the stack but are no numbers.
  for (const std::string& n : {"N"s, "G\x00\x00\x00\x00\x00\x00\x00\x00"s})
    expect_refused(spelled(n, five, a), "the shape of an array is damaged");
  expect_refused(spelled("\x89"s, five, a), "has 1 bytes, expected 0");
  for (const std::string& n : {"I1x\n"s, "Ix\n"s, "L\n"s, "I99999999999999999999\n"s})
    expect_refused(spelled(n, five, a), "a number is damaged");
  expect_refused(spelled("\x8a\x09\x01\x00\x00\x00\x00\x00\x00\x00\x00"s, five, a),
                 "a number has more than 64 bits");
  expect_refused(spelled("\x8a\x01\xff"s, five, a), "the shape of an array is damaged");
  expect_refused(spelled("\x8a\x00"s, five, a), "has 1 bytes, expected 0");
}

// Latin-1 bytes that are stored as UTF-8: up to 0x7f in one byte, others in two.
TEST(PickledArrays, EncodedTextIsLatin1) {
  const auto encoded = [](const std::string& utf8) {
    return spelled("K\x01"s, call("_codecs", "encode") + text(utf8) + text("latin1") + "\x86R"s,
                   text("a"));
  };
  for (const auto& [utf8, byte] : {std::pair{"\x01"s, 1},
                                   {"\x7f"s, 0x7f},
                                   {"\xc2\x80"s, 0x80},
                                   {"\xc2\xbf"s, 0xbf},
                                   {"\xc3\x80"s, 0xc0},
                                   {"\xc3\xbf"s, 0xff}})
    EXPECT_EQ(parse(encoded(utf8)).at("a").to_int64s(), std::vector<int64_t>{byte});
  for (const std::string& utf8 : {"\x80"s, "\xbf"s, "\xc2"s, "\xc4\x80"s, "\xc1\x80"s, "\xff"s})
    expect_refused(encoded(utf8), "bytes are not as NumPy writes them");
}

// An array [2,3,4] whose first index runs fastest.
TEST(PickledArrays, OfColumnsOfThreeDimensionsComeInRows) {
  std::string bytes;
  for (int k = 0; k < 4; k++)
    for (int j = 0; j < 3; j++)
      for (int i = 0; i < 2; i++) bytes += {static_cast<char>(i * 12 + j * 4 + k), '\0'};
  const auto x =
      parse(dict("x", array("K\x02K\x03K\x04\x87"s, type("i2"), bytes, true))).at("x").to_int64s();
  for (size_t i = 0; i < 24; i++) EXPECT_EQ(x[i], static_cast<int64_t>(i));
  EXPECT_EQ(parse(dict("x", array("K\x00K\x03\x86"s, type("i2"), "", true))).at("x").shape(),
            (Shape{0, 3}));
}

TEST(PickledArrays, ReadsShapeAndOrderOfABuffer) {
  const auto buffer = [](const std::string& shape, const std::string& order) {
    return "\x80\x05}"s + text("z") + call("numpy.core.numeric", "_frombuffer") +
           "(C\x02\x07\x08"s + type("u1") + shape + order + "tRs."s;
  };
  EXPECT_EQ(parse(buffer("K\x02\x85"s, text("C"))).at("z").to_int64s(),
            (std::vector<int64_t>{7, 8}));
  for (const std::string& wrong :
       {buffer("K\x02"s, text("C")), buffer("K\x02\x85"s, "K\x01"s), buffer("K\x02\x85"s, "")})
    expect_refused(wrong, "an array is described in a way that NumPy does not");
}

// pickle.dumps({"\N{GRINNING FACE}": a}, 0) has the name \U0001f600.
TEST(PickledArrays, NamesOfProtocol0AreDecoded) {
  const auto named = [](const std::string& name) {
    return "(dV"s + name + "\n" + array(kTwoByThree, type("i1"), "\x01\x02\x03\x04\x05\x06") +
           "s."s;
  };
  const auto name_of = [&](const std::string& name) {
    const auto arrays = parse(named(name));
    return arrays.size() == 1 ? arrays.begin()->first : "not one array";
  };
  EXPECT_EQ(name_of("\\U0001f600"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(name_of("a\\U0010ffffb\\u20ac\\u005cU"),
            "a\xf4\x8f\xbf\xbf"
            "b\xe2\x82\xac\\U");
  EXPECT_EQ(name_of("\\U00000041\\U000000e9\\U0000ffff"), "A\xc3\xa9\xef\xbf\xbf");
  EXPECT_EQ(name_of("\xe9\\x"), "\xc3\xa9\\x");
  for (const char* wrong : {"\\U00110000", "\\Uffffffff", "\\U0001f60", "\\u20a", "\\u20ax", "\\U"})
    expect_refused(named(wrong), "is no character of Unicode");
}

// Arrays in other protocols: lines of text, bytes that are Latin-1, values by number.
std::vector<std::pair<const char*, std::string>> pickles() {
  const std::string six = "\x01\x02\x03\x04\x05\x06";
  const std::string memo = "\x80\x04\x95\x00\x01\x00\x00\x00\x00\x00\x00}\x94("s + text("a") +
                           "\x94"s + array(kTwoByThree, type("i1"), six) + "\x94" + text("b") +
                           "h\x02u."s;
  const std::string lines =
      "(dp0\nVx\\u00e9\np1\ncnumpy.core.multiarray\n_reconstruct\np2\n(cnumpy\nndarray\np3\n"
      "(I0\ntp4\nVb\ntRp5\n(I1\n(I2\ntp6\ncnumpy\ndtype\np7\n(Vi2\nI00\nI01\ntRp8\n(I3\nV<\nNNN"
      "I-1\nI-1\nI0\ntbI00\nc_codecs\nencode\n(V\\u0001\\u0000\\u00ff\\u0000\nVlatin1\ntRtbs.";
  const std::string buffer = "\x80\x05}" + text("z") + call("numpy._core.numeric", "_frombuffer") +
                             "(\x96\x06\x00\x00\x00\x00\x00\x00\x00"s + six + type("u1") +
                             kTwoByThree + text("F") + "tRs."s;
  const std::string scalar = "\x80\x04}" + text("s") + call("numpy.core.multiarray", "scalar") +
                             type("f4") + "C\x04\x00\x00\x80?\x86Rs."s;
  return {{"one array", dict("x", array(kTwoByThree, type("i1"), six))},
          {"columns", dict("x", array(kTwoByThree, type("i2"), six + six, true))},
          {"values by number", memo},
          {"lines", lines},
          {"a buffer", buffer},
          {"a scalar", scalar}};
}

std::string summary_of(const std::map<std::string, Tensor>& arrays) {
  std::string line = "taken:";
  for (const auto& [name, t] : arrays) {
    double sum = 0, weight = 1;
    for (const double v : t.to_doubles()) sum += v * weight++;
    std::string printed;
    for (const char c : name) printed += c >= 'a' && c <= 'z' ? c : '?';
    line += fmt::format(" {} {}{} {:.6g}", printed, dtype_name(t.dtype()), shape_string(t.shape()),
                        sum);
  }
  return line;
}

// Each byte of each pickle is replaced by every byte that has a meaning.
TEST(PickledArrays, RecordedAnswersToEveryByteChanged) {
  test::RecordedLines found;
  const std::string others =
      "(.02CIKMNRVX]bceghjlpqrstu})\x80\x85\x87\x88\x8a\x8c\x93\x94\x96\x00\x01"s
      "\xff>\n"s;
  for (const auto& [name, whole] : pickles()) {
    test::MessageCounts messages;
    EXPECT_EQ(message_of(whole), "no error") << name;
    for (size_t i = 0; i < whole.size(); i++)
      for (const char other : others) {
        std::string bytes = whole;
        bytes[i] = other;
        try {
          messages.add(summary_of(parse(bytes)));
        } catch (const Error& e) {
          messages.add(e.message());
        }
      }
    for (size_t i = 0; i < whole.size(); i++) messages.add(message_of(whole.substr(0, i)));
    messages.write(found[name]);
  }
  test::expect_digests(found, POPRT_TEST_DATA "/pickle_refusals.txt",
                       "Arrays and messages of damaged pickles: arrays_file_test.cpp.",
                       test::counted_message_of);
}

template <class T>
std::string little(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string npy_bytes(int version, const std::string& header, const std::string& data) {
  const std::string size = version == 1 ? little(static_cast<uint16_t>(header.size()))
                                        : little(static_cast<uint32_t>(header.size()));
  return "\x93NUMPY"s + static_cast<char>(version) + '\0' + size + header + data;
}

// Returns an archive as numpy.savez writes it.
std::string npz(const std::vector<std::pair<std::string, std::string>>& members,
                const std::string& comment = "") {
  std::string file, directory;
  for (const auto& [name, bytes] : members) {
    const auto size = static_cast<uint32_t>(bytes.size());
    const std::string sizes = little(uint32_t{0}) + little(size) + little(size) +
                              little(static_cast<uint16_t>(name.size()));
    const std::string head = little(uint16_t{20}) + std::string(8, '\0');
    directory += "PK\x01\x02"s + little(uint16_t{20}) + head + sizes + std::string(12, '\0') +
                 little(static_cast<uint32_t>(file.size())) + name;
    file += "PK\x03\x04"s + head + sizes + little(uint16_t{0}) + name + bytes;
  }
  const auto count = static_cast<uint16_t>(members.size());
  return file + directory + "PK\x05\x06\0\0\0\0"s + little(count) + little(count) +
         little(static_cast<uint32_t>(directory.size())) +
         little(static_cast<uint32_t>(file.size())) +
         little(static_cast<uint16_t>(comment.size())) + comment;
}

TEST(NpzArrays, RecordedAnswersToEveryByteChanged) {
  const std::string floats = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n",
                    words = "{'descr': '<U3', 'fortran_order': False, 'shape': (2, 1), }\n",
                    bits = "{'descr': '|b1', 'fortran_order': False, 'shape': (), }\n";
  const std::pair<const char*, std::string> files[] = {
      {"two arrays", npz({{"x.npy", npy_bytes(1, floats, little(1.5f) + little(-2.0f))},
                          {"b", npy_bytes(2, bits, "\x01")}})},
      {"text and a comment", npz({{"t.npy", npy_bytes(3, words,
                                                      "a\0\0\0\xe9\0\0\0\x2d\x4e\0\0"
                                                      "\0\xf6\x01\0\0\0\0\0\0\0\0\0"s)}},
                                 "note")},
      {"nothing", npz({})}};
  test::RecordedLines found;
  for (const auto& [name, whole] : files) {
    test::MessageCounts messages;
    const auto add = [&](const std::string& bytes) {
      try {
        const auto arrays = parse_npz(std::as_bytes(std::span(bytes)), "d.npz");
        std::string line;
        for (const auto& [key, t] : arrays)
          if (t.dtype() == DType::string)
            for (const std::string& word : t.string_values()) {
              line += " ";
              for (const char c : word) line += fmt::format("{:02x}", static_cast<uint8_t>(c));
            }
        messages.add(line.empty() ? summary_of(arrays) : "taken: text" + line);
      } catch (const Error& e) {
        messages.add(std::string(error_code_name(e.code())) + ": " + e.message());
      }
    };
    add(whole);
    for (size_t i = 0; i < whole.size(); i++) {
      for (const int x : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x80, 0xff}) {
        std::string bytes = whole;
        bytes[i] = static_cast<char>(bytes[i] ^ x);
        add(bytes);
      }
      add(whole.substr(0, i));
      add(whole.substr(0, i) + whole.substr(i + 1));
    }
    messages.write(found[name]);
  }
  test::expect_recorded(found, POPRT_TEST_DATA "/npz_refusals.txt",
                        "Arrays and messages of damaged .npz files: arrays_file_test.cpp.");
}

// An archive stores a number that does not fit into 32 bits in another field, which is not read.
TEST(NpzArrays, LargerThanFourGiBAreRefused) {
  const std::string good =
      npz({{"x.npy", npy_bytes(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }",
                               little(1.5f))}});
  const size_t entry = good.find("PK\x01\x02");
  ASSERT_NE(entry, good.npos);
  for (const size_t field : {24, 42}) {  // the size, and the offset of the member
    std::string bytes = good;
    bytes.replace(entry + field, 4, "\xff\xff\xff\xff");
    try {
      parse_npz(std::as_bytes(std::span(bytes)), "d.npz");
      ADD_FAILURE() << field;
    } catch (const Error& e) {
      EXPECT_NE(e.message().find("larger than 4 GiB"), std::string::npos) << e.message();
    }
  }
}

// The directory may name one member many times, so a small file could describe any number of
// arrays.
TEST(NpzArrays, MembersShareNoBytes) {
  const std::string data =
      npy_bytes(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", little(1.5f));
  const std::string good = npz({{"x.npy", data}, {"y.npy", data}, {"z.npy", data}});
  EXPECT_EQ(parse_npz(std::as_bytes(std::span(good)), "d.npz").size(), 3u);
  const size_t directory = good.find("PK\x01\x02"), entry_size = 46 + 5;
  const size_t member_size = directory / 3;
  for (uint32_t entry = 0; entry < 3; entry++)
    for (uint32_t other = 0; other < 3; other++) {
      if (entry == other) continue;
      std::string bytes = good;
      bytes.replace(directory + entry * entry_size + 42, 4,
                    little(static_cast<uint32_t>(other * member_size)));
      try {
        parse_npz(std::as_bytes(std::span(bytes)), "d.npz");
        ADD_FAILURE() << entry << " " << other;
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::data_loss);
        EXPECT_NE(e.message().find("shares bytes with another array"), std::string::npos)
            << e.message();
      }
    }
}

// A memo keeps bytes and texts, so each further copy needs few bytes of the file.
TEST(PickledArrays, AreNotMadeFromTheSameBytesWithoutEnd) {
  const std::string content(60000, 'a');
  const std::string size = little(static_cast<uint32_t>(content.size()));
  const std::string array = call("numpy.core.multiarray", "_reconstruct") +
                            call("numpy", "ndarray") + "K\x00\x85\x43\x01"s + "b\x87R"s;
  // Memo 0 is the content and memo 1 the state of an array.
  const std::string state =
      "(K\x01M"s + little(uint16_t{60000}) + "\x85"s + type("u1") + "\x89h\0t"s;
  const std::string built =
      "\x80\x05\x42"s + size + content + "\x94\x30"s + state + "\x94\x30}"s + text("x") + array;
  const std::string encoded = "\x80\x05X"s + size + content + "\x94\x30}"s + text("x");
  const std::string encode = call("_codecs", "encode") + "h\0"s + text("latin1") + "\x86R"s;
  const auto repeated = [](const std::string& part, int count) {
    std::string parts;
    for (int i = 0; i < count; i++) parts += part;
    return parts;
  };
  const std::string of_text =
      array + "(K\x01M"s + little(uint16_t{60000}) + "\x85"s + type("u1") + "\x89"s;
  const std::string build = "h\x01\x62"s;
  EXPECT_EQ(message_of(built + build + "s."s), "no error");
  expect_refused(built + repeated(build, 100) + "s.", "many arrays from the same bytes");
  EXPECT_EQ(message_of(encoded + of_text + encode + "tbs."s), "no error");
  expect_refused(encoded + repeated(encode + "0"s, 100) + of_text + encode + "tbs."s,
                 "many arrays from the same bytes");
}

TEST(PickledArrays, AreNotNestedWithoutEnd) {
  std::string deep = "\x80\x04)"s;
  for (int i = 0; i < 100000; i++) deep += '\x85';
  expect_refused(deep + ".", "nested");
}

const std::string kFloats = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";

std::string npz_refusal(const std::string& bytes) {
  try {
    parse_npz(std::as_bytes(std::span(bytes)), "d.npz");
  } catch (const Error& e) {
    return e.message();
  }
  return "taken";
}

// Other writers add their own fields after names, and comments after entries.
TEST(NpzArrays, SkipsExtraFieldsAndComments) {
  std::string file, directory;
  for (const float v : {1.5f, 2.5f}) {
    const std::string name = v < 2 ? "x.npy" : "y", bytes = npy_bytes(1, kFloats, little(v));
    const auto size = static_cast<uint32_t>(bytes.size());
    const std::string sizes = little(uint32_t{0}) + little(size) + little(size) +
                              little(static_cast<uint16_t>(name.size()));
    const std::string head = little(uint16_t{20}) + std::string(8, '\0');
    directory += "PK\x01\x02"s + little(uint16_t{20}) + head + sizes + little(uint16_t{3}) +
                 little(uint16_t{5}) + std::string(8, '\0') +
                 little(static_cast<uint32_t>(file.size())) + name + "abc" + "words";
    file += "PK\x03\x04"s + head + sizes + little(uint16_t{7}) + name + "sevenby" + bytes;
  }
  file += directory + "PK\x05\x06\0\0\0\0"s + little(uint16_t{2}) + little(uint16_t{2}) +
          little(static_cast<uint32_t>(directory.size())) +
          little(static_cast<uint32_t>(file.size())) + little(uint16_t{0});
  const auto arrays = parse_npz(std::as_bytes(std::span(file)), "d.npz");
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays.at("x").to_doubles(), std::vector<double>{1.5});
  EXPECT_EQ(arrays.at("y").to_doubles(), std::vector<double>{2.5});
}

TEST(NpzArrays, TheDirectoryIsFoundBeforeAnyComment) {
  const std::vector<std::pair<std::string, std::string>> members = {
      {"x.npy", npy_bytes(1, kFloats, little(1.5f))}};
  EXPECT_EQ(npz_refusal(npz(members, std::string(65535, 'c'))), "taken");
  EXPECT_EQ(npz_refusal(npz(members, std::string(65536, 'c'))),
            "'d.npz' is no usable .npz file: it has no directory");
  EXPECT_EQ(npz_refusal(npz({})), "taken") << "of 22 bytes";
  EXPECT_EQ(npz_refusal(npz({}).substr(0, 21)),
            "'d.npz' is no usable .npz file: it has no directory");
  EXPECT_EQ(npz_refusal(""), "'d.npz' is no usable .npz file: it has no directory");
}

TEST(NpzArrays, ReportsErrors) {
  const std::string good = npz({{"x.npy", npy_bytes(1, kFloats, little(1.5f))}});
  const size_t entry = good.find("PK\x01\x02"), end = good.find("PK\x05\x06");
  const auto with = [&](size_t at, const std::string& bytes) {
    std::string file = good;
    file.replace(at, bytes.size(), bytes);
    return npz_refusal(file);
  };
  const std::string damaged = "'d.npz' is no usable .npz file: its directory is damaged";
  const std::string cut = "'d.npz' is no usable .npz file: it is cut off";
  EXPECT_EQ(with(entry, "PK\x01\x03"), damaged);
  EXPECT_EQ(with(0, "PK\x03\x05"), damaged);
  EXPECT_EQ(with(entry + 10, "\x08"), "'d.npz/x.npy' is compressed; save it with numpy.savez");
  EXPECT_EQ(with(entry + 24, "\xff\xff"), cut) << "a member longer than the file";
  EXPECT_EQ(with(end + 16, "\xff\xff"), cut);
  EXPECT_EQ(with(entry + 42, "\xff\xff"), cut);
  EXPECT_NE(with(entry + 24, "\x20").find("'d.npz/x.npy'"), std::string::npos);
  std::string none = good;
  none.replace(end + 10, 2, std::string(2, '\0'));
  EXPECT_EQ(npz_refusal(none), "taken") << "no member is counted";
}

TEST(ArraysFile, IsOneOrTheOtherByItsFirstBytes) {
  const std::string path = testing::TempDir() + "arrays_file_" + std::to_string(::getpid());
  const auto message_for = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    try {
      return fmt::format("{} arrays", read_arrays(path).size());
    } catch (const Error& e) {
      return e.message();
    }
  };
  const std::string one = "'" + path +
                          "' is one array without a name; expected a pickle of {'input': array} "
                          "or an .npz file";
  EXPECT_EQ(message_for(npz({{"x.npy", npy_bytes(1, kFloats, little(1.5f))}})), "1 arrays");
  EXPECT_EQ(message_for(npz({})), "0 arrays");
  EXPECT_EQ(message_for(dict("x", array(kTwoByThree, type("i1"), "\x01\x02\x03\x04\x05\x06"))),
            "1 arrays");
  EXPECT_EQ(message_for(npy_bytes(1, kFloats, little(1.5f))), one);
  EXPECT_EQ(message_for("\x93NUMPY"), one);
  EXPECT_NE(message_for("\x93NUMP").find("pickle"), std::string::npos);
  EXPECT_EQ(message_for("PK\x05\x06").find("pickle"), std::string::npos);
  EXPECT_NE(message_for("PK\x05").find("pickle"), std::string::npos);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace poprt
