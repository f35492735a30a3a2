// Weights of another precision are packed once and kept in a cache folder.
#include "runtime/session/precision_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/error.h"
#include "base/log.h"
#include "program/serialize.h"
#include "runtime/queue/payload_buffer.h"
#include "runtime/runner/model_runner.h"
#include "runtime/session/executable_cache.h"
#include "runtime/session/popef_file.h"
#include "support/copy_model.h"

namespace poprt::runtime {
namespace {

namespace fs = std::filesystem;
using program::Builder;
using program::kNoBuffer;

constexpr int64_t kProductRows = 4, kDepth = 96, kColumns = 96;

// y [4, 96] = x [4, 96] w, whose weights depend on `seed`.
std::shared_ptr<const Model> product_model(unsigned seed, const std::string& output = "y") {
  Builder b;
  const Shape rows = {kProductRows, kDepth};
  const uint64_t bytes = kProductRows * kDepth * 4, weights = kDepth * kColumns * 4;
  const auto x = b.input(b.add_input({"x", DType::f32, rows}), 0, bytes, DType::f32, rows);
  const auto y = b.output(b.add_output({output, DType::f32, rows}), 0, bytes, DType::f32, rows);
  const auto w = b.weights(weights, DType::f32, {kDepth * kColumns}, [=](std::span<std::byte> to) {
    std::memcpy(to.data(), test::random_floats(kDepth * kColumns, seed).data(), to.size());
  });
  const int64_t numbers[] = {kProductRows, kColumns, kDepth, 0, 0};  // the last two: the epilogue
  const float floats[] = {0, 0};
  const program::BufferId operands[] = {x, w, kNoBuffer, kNoBuffer, y};
  b.emit("matmul", operands, numbers, floats, "product");
  const auto payload = std::make_shared<PayloadBuffer>();
  program::write_executable([&](std::span<const std::byte> part) { payload->append(part); },
                            b.program(), b.weight_records());
  return open_payload("m", payload->bytes(), payload);
}

std::vector<float> run_product(const std::shared_ptr<const Model>& model) {
  ModelRunner runner(model);
  const std::vector<float> x = test::random_floats(kProductRows * kDepth, 1);
  std::vector<float> y(kProductRows * kColumns);
  const void* in[] = {x.data()};
  void* out[] = {y.data()};
  runner.execute(in, out);
  return y;
}

class PrecisionCacheTest : public ::testing::Test {
 protected:
  PrecisionCacheTest()
      : folder(fs::path(::testing::TempDir()) /
               fmt::format("precision_cache_{}_{}", ::getpid(),
                           ::testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~PrecisionCacheTest() override { fs::remove_all(folder); }

  std::shared_ptr<const Model> in(const std::string& precision,
                                  const std::shared_ptr<const Model>& model,
                                  const std::string& build = "b") const {
    return with_execution_precision(model, precision, {folder, build});
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> list;
    for (const auto& entry : fs::directory_iterator(folder)) list.push_back(entry.path());
    return list;
  }
  fs::path file() const {
    const auto list = files();
    if (list.size() != 1) fail(ErrorCode::internal, "{} files in the cache", list.size());
    return list[0];
  }

  fs::path folder;
};

TEST_F(PrecisionCacheTest, WeightsArePackedOnceAndMapped) {
  const auto model = product_model(2);
  const auto first = in("bf16", model);
  const fs::file_time_type long_ago = fs::file_time_type::clock::now() - std::chrono::hours(5);
  const fs::path path = file();
  const auto size = fs::file_size(path);
  std::ifstream stream(path, std::ios::binary);
  const std::string before(std::istreambuf_iterator<char>(stream), {});
  fs::last_write_time(path, long_ago);
  const auto second = in("bf16", model);
  EXPECT_EQ(file(), path);
  EXPECT_EQ(fs::file_size(path), size);
  EXPECT_GT(fs::last_write_time(path), long_ago) << "it is marked as used";
  const auto y = run_product(first);
  EXPECT_EQ(run_product(second), y);
  EXPECT_NE(run_product(model), y);
  EXPECT_EQ(first->image.weights.size(), size_t{kDepth * kColumns * 2});
  EXPECT_EQ(with_execution_precision(model, "bf16", {std::nullopt, "b"})->image.weights.size(),
            first->image.weights.size())
      << "without a folder";
  EXPECT_EQ(run_product(with_execution_precision(model, "bf16", {std::nullopt, "b"})), y);
  // The weights are in the map of the file and not in private memory.
  std::ifstream maps("/proc/self/maps");
  const auto at = reinterpret_cast<uintptr_t>(second->image.weights.data());
  bool mapped = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::istringstream words(line);
    words >> std::hex >> begin >> dash >> end;
    if (at >= begin && at < end) mapped = line.find(path.filename().string()) != line.npos;
  }
  EXPECT_TRUE(mapped);
}

TEST_F(PrecisionCacheTest, ModelsPrecisionsAndBuildsHaveSeparateFiles) {
  const auto model = product_model(2);
  in("bf16", model);
  EXPECT_EQ(files().size(), 1u);
  in("bf16", product_model(3));
  EXPECT_EQ(files().size(), 2u) << "other weights";
  in("bf16", product_model(2, "z"));
  EXPECT_EQ(files().size(), 3u) << "another program";
  in("f16", model);
  EXPECT_EQ(files().size(), 4u) << "another precision";
  in("bf16", model, "c");
  EXPECT_EQ(files().size(), 5u) << "another build";
  in("bf16", product_model(2));
  EXPECT_EQ(files().size(), 5u) << "an equal model";
}

TEST_F(PrecisionCacheTest, WritesNoFileForAnUnchangedProgram) {
  const auto model = product_model(2);
  EXPECT_EQ(in("f32", model), model);
  EXPECT_EQ(in("auto", model), model);
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(PrecisionCacheTest, ADamagedOrTruncatedFileIsReplaced) {
  const auto model = product_model(2);
  const auto y = run_product(in("bf16", model));
  const fs::path path = file();
  const auto size = fs::file_size(path);
  for (const uint64_t keep : {uint64_t{0}, uint64_t{7}, size / 3, size - 1}) {
    fs::resize_file(path, keep);
    EXPECT_EQ(run_product(in("bf16", model)), y) << keep << " bytes";
    EXPECT_EQ(fs::file_size(path), size);
  }
  for (uint64_t at = 0; at < size; at += size / 50) {
    std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);
    f.seekg(static_cast<std::streamoff>(at));
    const char c = static_cast<char>(f.get());
    f.seekp(static_cast<std::streamoff>(at));
    f.put(static_cast<char>(~c));
    f.close();
    EXPECT_EQ(run_product(in("bf16", model)), y) << "byte " << at;
  }
}

// One file is that of another model under the name of this one, another has a forged note.
TEST_F(PrecisionCacheTest, AForeignFileIsReplaced) {
  const auto model = product_model(2);
  const auto y = run_product(in("bf16", model));
  const fs::path path = file();
  in("bf16", product_model(3));
  for (const fs::path& other : files())
    if (other != path) fs::copy_file(other, path, fs::copy_options::overwrite_existing);
  EXPECT_EQ(run_product(in("bf16", model)), y);

  const ExecutableCache cache(folder);
  const CacheKey key = {path.stem().string(),
                        fmt::format("{}, execution_precision bf16 of a runner", program::package()),
                        "m"};
  ASSERT_NE(cache.find(key), nullptr) << "the key is that of the file";
  cache.store(key, product_model(2, "another")->payload);
  EXPECT_EQ(run_product(in("bf16", model)), y) << "the outputs are not those of the model";
}

TEST_F(PrecisionCacheTest, AFolderThatCannotBeWrittenIsNoError) {
  std::ofstream(folder) << "a file";
  EXPECT_EQ(run_product(in("bf16", product_model(2))),
            run_product(with_execution_precision(product_model(2), "bf16", {})));
}

TEST_F(PrecisionCacheTest, ReproducibleModelsAreRefused) {
  const auto model = std::make_shared<Model>(*product_model(2));
  model->reproducible = true;
  EXPECT_EQ(in("f32", model), model);
  for (const std::string precision : {"bf16", "f16", "auto"}) try {
      in(precision, model);
      ADD_FAILURE() << precision;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      EXPECT_NE(e.message().find("was compiled with `reproducible`"), std::string::npos);
    }
}

TEST_F(PrecisionCacheTest, AnUnknownPrecisionIsRefused) {
  EXPECT_THROW(in("int8", product_model(2)), Error);
  EXPECT_FALSE(fs::exists(folder));
}

}  // namespace
}  // namespace poprt::runtime
