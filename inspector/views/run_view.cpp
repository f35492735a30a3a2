#include "views/run_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <tuple>

#include "model/class_names.h"
#include "model/format.h"
#include "model/run_report.h"
#include "views/plot.h"

namespace poprt::inspector {
namespace {

std::string type_text(DType dtype, const Shape& shape) {
  return fmt::format("{} {}", dtype_name(dtype), dimensions_text(shape));
}

double number_of(const std::string& text, double otherwise) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end == text.c_str() || *end != '\0' || !(value >= 0) ? otherwise : value;
}

// A number with a button on each side.
void stepper(const char* name, int& value, int least, int most) {
  ImGui::PushID(name);
  ImGui::AlignTextToFramePadding();
  ui::dim_text(name);
  ImGui::SameLine(130 * ui::scale());
  if (ui::button(fmt::format("-##{}", name).c_str()) && value > least)
    value = std::max(least, value / 2);
  ImGui::SameLine();
  ui::text(std::to_string(value));
  ImGui::SameLine(130 * ui::scale() + 84 * ui::scale());
  if (ui::button(fmt::format("+##{}", name).c_str())) value = std::min(most, value * 2);
  ui::mark(fmt::format("more {}", name));
  ImGui::PopID();
}

}  // namespace

void RunView::forget_results() {
  running_ = {};
  benching_ = {};
  result_ = nullptr;
  bench_result_ = nullptr;
  differences_.clear();
}

void RunView::set_model(std::shared_ptr<const Document> document,
                        std::shared_ptr<const Compilation> compilation,
                        const std::string& executable) {
  if (document == document_ && compilation == compilation_ && executable == executable_) return;
  preparing_ = {};
  model_ = nullptr;
  // Another compilation may have other shapes.
  if (document != document_ || executable != executable_ ||
      (compilation_ && compilation != compilation_))
    forget_results();
  executable_ = executable;
  error_.clear();
  if (document && document != document_) settings.variant = 0;
  if (document && document != document_ && class_file_.empty())
    set_class_names(find_class_names(document->path).string());
  document_ = std::move(document);
  compilation_ = std::move(compilation);
}

void RunView::prepare() {
  if (model_ || preparing_.started() || !error_.empty() || !document_) return;
  preparing_ = Task<Runnable>(
      [document = document_, compilation = compilation_,
       executable = executable_](Progress& progress) {
        progress.step(0, "preparing");
        return model_to_run(*document, compilation.get(), progress, executable);
      },
      wake_);
}

// Requires that the model is ready.
void RunView::choose_variant(size_t variant) {
  variants_ = run_variants(*model_);
  settings.variant = variant < variants_.size() ? variant : 0;
  inputs_ = inputs_to_give(*model_, settings.variant);
}

std::string RunView::input_for(const std::filesystem::path& file) const {
  if (!model_) return {};
  const bool picture = file.extension() != ".npy" && file.extension() != ".pb";
  for (const program::Anchor& a : inputs_)
    if (!picture || a.shape.size() >= 2) return a.name;
  return {};
}

void RunView::drop(const std::filesystem::path& file) {
  dropped_ = model_ ? std::filesystem::path() : file;
  if (const std::string input = input_for(file); !input.empty())
    set_input(input, {InputKind::file, file, PixelRange::unit});
}

bool RunView::has_input(const std::string& name) const {
  return model_ && std::any_of(inputs_.begin(), inputs_.end(),
                               [&](const program::Anchor& a) { return a.name == name; });
}

void RunView::set_page(const std::string& name) {
  for (const auto& [page, called] :
       {std::pair(Page::values, "values"), std::pair(Page::top, "largest"),
        std::pair(Page::differences, "differences")})
    if (name == called) page_ = page;
}

// Returns the choices for inputs that this model has.
InputChoices RunView::known_choices() const {
  InputChoices choices;
  for (const program::Anchor& a : inputs_)
    if (const auto c = choices_.find(a.name); c != choices_.end()) choices.insert(*c);
  return choices;
}

void RunView::run() {
  if (running_.started() || !document_) return;
  error_.clear();
  prepare();
  run_wanted_ = !model_;
  if (!model_) return;
  const InputChoices choices = known_choices();
  const Tolerance tolerance = {number_of(tolerance_text_, 1e-3), number_of(absolute_text_, 1e-4)};
  running_ = Task<Outcome>(
      [model = model_, second = second_, references = references_, choices, tolerance, seed = seed_,
       variant = settings.variant](Progress& progress) {
        Outcome made;
        made.result = run_model(model, choices, seed, progress, variant);
        if (second.document) {
          made.compared = second.document->title();
          try {
            const auto other = model_to_run(*second.document, second.compilation.get(), progress);
            const size_t same = variant < run_variants(*other).size() ? variant : 0;
            made.differences = compare_outputs(
                made.result.outputs, run_model(other, choices, seed, progress, same).outputs,
                tolerance, &progress.cancel);
          } catch (const Error& e) {
            if (e.code() == ErrorCode::cancelled) throw;
            fail(e.code(), "'{}' does not run on these inputs, so it is not compared: {}",
                 made.compared, e.what());
          }
        }
        for (const NamedTensor& t : made.result.outputs) {
          const auto file = references.find(t.name);
          if (file == references.end() || file->second.empty()) continue;
          made.compared = made.compared.empty() ? "reference files" : made.compared;
          std::erase_if(made.differences, [&](const auto& d) { return d.name == t.name; });
          made.differences.push_back(compare_tensors(
              t.name, t.tensor, read_tensor_file(file->second), tolerance, 1000, &progress.cancel));
        }
        return made;
      },
      wake_);
}

void RunView::bench() {
  if (benching_.started() || !document_) return;
  error_.clear();
  prepare();
  bench_wanted_ = !model_;
  if (!model_) return;
  benching_ = Task<BenchResult>(
      [model = model_, choices = known_choices(), seed = seed_, s = settings](Progress& progress) {
        return bench_model(model, choices, seed, s, progress);
      },
      wake_);
}

void RunView::set_reference(const std::string& output, const std::string& path) {
  references_[output] = path;
}

void RunView::set_class_names(const std::string& path) {
  class_file_ = path;
  class_error_.clear();
  classes_.clear();
  if (path.empty()) return;
  try {
    classes_ = read_class_names(path);
  } catch (const std::exception& e) {
    class_error_ = printable(e.what());
  }
}

void RunView::accept() {
  if (preparing_.started() && !preparing_.running()) {
    if (auto made = preparing_.take()) {
      model_ = std::move(*made);
      choose_variant(settings.variant);
    } else {
      error_ = printable(preparing_.error());
    }
    preparing_ = {};
    if (model_ && !dropped_.empty()) drop(std::exchange(dropped_, {}));
    const bool wants_run = std::exchange(run_wanted_, false),
               wants_bench = std::exchange(bench_wanted_, false);
    if (model_ && wants_run) run();
    if (model_ && wants_bench) bench();
  }
  if (running_.started() && !running_.running()) {
    if (auto made = running_.take()) {
      result_ = std::make_shared<RunResult>(std::move(made->result));
      differences_ = std::move(made->differences);
      compared_ = std::move(made->compared);
      selected_ = std::min(selected_, result_->outputs.empty() ? 0 : result_->outputs.size() - 1);
      if (!differences_.empty())
        page_ = Page::differences;
      else if (page_ == Page::differences)
        page_ = Page::values;
    } else {
      // Results of an earlier run belong to other inputs.
      error_ = printable(running_.error());
      result_ = nullptr;
      differences_.clear();
    }
    running_ = {};
  }
  if (benching_.started() && !benching_.running()) {
    if (auto made = benching_.take())
      bench_result_ = std::make_shared<BenchResult>(std::move(*made));
    else
      error_ = printable(benching_.error());
    benching_ = {};
  }
}

void RunView::settle() {
  preparing_.wait();
  accept();
  running_.wait();
  benching_.wait();
  accept();
  tensor_.settle();
  picture_.settle();
  top_.settle();
}

std::vector<Table> RunView::tables() const {
  std::vector<Table> tables;
  if (result_) tables = run_tables(*result_, TensorRow::kTop, classes_);
  if (!differences_.empty())
    for (Table& t : difference_tables(differences_, result_->outputs, 1000))
      tables.push_back(std::move(t));
  if (bench_result_) tables.push_back(bench_table(settings, *bench_result_));
  return tables;
}

std::string RunView::status() const {
  if (running_.started()) return "running";
  if (benching_.started()) return "measuring";
  if (!error_.empty()) return "failed";
  if (!result_) return bench_result_ ? "measured" : "not run yet";
  std::string line =
      fmt::format("loaded in {:.1f} ms, first run {:.2f} ms", result_->load_ms, result_->run_ms);
  if (result_->warm_runs > 0)
    line += fmt::format(", then {:.2f} ms (median of {})", result_->warm_ms, result_->warm_runs);
  const auto bad = std::count_if(differences_.begin(), differences_.end(),
                                 [](const TensorDifference& d) { return !d.agrees(); });
  if (!differences_.empty())
    line +=
        bad ? fmt::format(" · {} of {} outputs differ from {}", bad, differences_.size(), compared_)
            : fmt::format(" · agrees with {}", compared_);
  return line;
}

void RunView::draw(ImVec2 size, const std::vector<Other>& others, bool keys) {
  accept();
  if (!document_) return;
  prepare();
  if (keys && ui::pressed('R')) run();
  if (keys && ui::pressed('B')) bench();
  const float left = std::min(360 * ui::scale(), size.x * 0.36f);
  ImGui::BeginChild("run choices", {left, size.y}, true);
  draw_choices({left, size.y}, others);
  ImGui::EndChild();
  ImGui::SameLine(0, 8);
  ImGui::BeginChild("run results", {size.x - left - 8, size.y}, false,
                    ImGuiWindowFlags_NoBackground);
  draw_results(ImGui::GetContentRegionAvail());
  ImGui::EndChild();
}

// Selects one of several fused models, or one of several shapes.
void RunView::draw_variants() {
  if (variants_.empty()) return;
  auto variant = static_cast<int>(settings.variant);
  if (!ui::choice("variant to run", variants_, variant, ImGui::GetContentRegionAvail().x)) return;
  forget_results();
  error_.clear();
  choose_variant(static_cast<size_t>(variant));
}

void RunView::draw_input(const program::Anchor& anchor) {
  const std::string name = printable(anchor.name);
  ImGui::PushID(anchor.name.c_str());
  InputChoice& choice = choices_[anchor.name];
  ui::text(name);
  ImGui::SameLine();
  ui::dim_text(type_text(anchor.dtype, anchor.shape));
  static constexpr const char* kinds[] = {"random", "zeros", "file"};
  for (int k = 0; k < 3; k++) {
    if (k) ImGui::SameLine(0, 2);
    if (ui::button(fmt::format("{}##{}", kinds[k], name).c_str(), nullptr,
                   static_cast<int>(choice.kind) == k))
      choice.kind = static_cast<InputKind>(k);
    ui::mark(fmt::format("{} {}", name, kinds[k]));
  }
  if (choice.kind == InputKind::file) {
    ImGui::SameLine(0, 12 * ui::scale());
    if (ui::button("Browse")) browse_ = anchor.name;
    std::string path = choice.path.string();
    if (ui::field(fmt::format("file of {}", name).c_str(), ".npy, .pb or a picture", path, -1))
      choice.path = path;
    const auto ending = choice.path.extension();
    if (!path.empty() && ending != ".npy" && ending != ".pb") {
      ImGui::AlignTextToFramePadding();
      ui::dim_text("pixels");
      for (int r = 0; r < kPixelRanges; r++) {
        ImGui::SameLine(0, r ? 2 : 8 * ui::scale());
        if (ui::button(pixel_range_name(static_cast<PixelRange>(r)),
                       "unit: 0 to 1; symmetric: -1 to 1; bytes: 0 to 255; imagenet: minus "
                       "ImageNet's mean, divided by its deviation",
                       choice.pixels == static_cast<PixelRange>(r)))
          choice.pixels = static_cast<PixelRange>(r);
      }
      ImGui::AlignTextToFramePadding();
      ui::dim_text("fit");
      ImGui::SameLine(0, 8 * ui::scale());
      if (ui::button("stretch", "The whole picture, resized to the proportions of the input",
                     !choice.crop))
        choice.crop = false;
      ImGui::SameLine(0, 2);
      if (ui::button("centre crop", "The centre of the picture in its original proportions",
                     choice.crop))
        choice.crop = true;
    }
  }
  ImGui::Dummy({0, 4 * ui::scale()});
  ImGui::PopID();
}

void RunView::draw_compare_choices(const std::vector<Other>& others) {
  ui::heading("Compare with");
  if (ui::button("nothing", nullptr, !second_.document)) second_ = {};
  bool listed = false;
  for (size_t i = 0; i < others.size(); i++) {
    ImGui::PushID(static_cast<int>(i));
    const bool chosen = second_.document == others[i].document;
    listed |= chosen;
    if (chosen) second_ = others[i];
    ImGui::SameLine();
    if (ImGui::GetContentRegionAvail().x < 90 * ui::scale()) ImGui::NewLine();
    if (ui::button(shortened(printable(others[i].document->title()), 24).c_str(),
                   "Runs that model on the same inputs", chosen)) {
      second_ = others[i];
      listed = true;
    }
    ui::mark("compare with " + others[i].document->title());
    ImGui::PopID();
  }
  if (!listed) second_ = {};  // the tab of the other document was closed
  if (others.empty()) ui::dim_text("open a second model for more");
  if (result_)
    for (const NamedTensor& t : result_->outputs)
      ui::field(fmt::format("reference {}", t.name).c_str(),
                fmt::format("reference of {}: .npy or .pb", t.name).c_str(), references_[t.name],
                -1);
  ui::dim_text("tolerance, relative and absolute");
  const float half = (ImGui::GetContentRegionAvail().x - 8) / 2;
  ui::field("relative", "relative", tolerance_text_, half);
  ImGui::SameLine(0, 8);
  ui::field("absolute", "absolute", absolute_text_, half);
}

void RunView::draw_bench_choices() {
  ui::heading("Benchmark");
  stepper("clients", settings.clients, 1, BenchSettings::kMostClients);
  stepper("in flight each", settings.in_flight, 1, BenchSettings::kMostInFlight);
  auto seconds = static_cast<int>(settings.seconds);
  stepper("seconds", seconds, 1, 3600);
  settings.seconds = seconds;
  if (const int step = model_ ? static_cast<int>(model_->batches_per_step) : 1;
      settings.clients * settings.in_flight < step) {
    ImGui::PushTextWrapPos(0);
    ui::dim_text(fmt::format(
        "A step of this file is {} batches; with fewer requests in flight each request waits",
        step));
    ImGui::PopTextWrapPos();
  }
  if (benching_.started()) {
    ImGui::ProgressBar(static_cast<float>(benching_.progress().first), {-1, 0});
    if (ui::button("Stop the benchmark")) benching_.cancel();
  } else if (ui::button("Measure", "B: the queues view shows the benchmark while it runs")) {
    bench();
  }
}

void RunView::draw_choices(ImVec2, const std::vector<Other>& others) {
  ui::heading("Inputs");
  if (preparing_.started()) ui::dim_text("Preparing …");
  if (model_) draw_variants();
  const auto inputs = model_ ? inputs_ : std::vector<program::Anchor>{};
  for (const program::Anchor& a : inputs) draw_input(a);
  if (model_ && inputs.empty()) ui::dim_text("This model takes no inputs");
  if (std::any_of(inputs.begin(), inputs.end(), [&](const program::Anchor& a) {
        return choices_[a.name].kind == InputKind::random;
      })) {
    auto seed = static_cast<int>(seed_);
    ImGui::SetNextItemWidth(110 * ui::scale());
    if (ImGui::InputInt("##seed", &seed)) seed_ = static_cast<uint64_t>(std::max(0, seed));
    ui::mark("seed");
    ImGui::SameLine();
    ui::fitted_text("seed of random inputs");
  }
  if (running_.started()) {
    const auto [done, what] = running_.progress();
    ImGui::ProgressBar(static_cast<float>(done), {-1, 0}, what.c_str());
    if (ui::button("Cancel")) running_.cancel();
  } else if (ui::button("Run", "R: once, on these inputs", true)) {
    run();
  }
  draw_compare_choices(others);
  draw_bench_choices();
}

void RunView::draw_results(ImVec2 size) {
  if (!error_.empty()) {
    ImGui::PushTextWrapPos(0);
    ui::coloured_text(ui::colours().bad, error_);
    ImGui::PopTextWrapPos();
  }
  if (!result_ && !bench_result_) {
    ImGui::PushTextWrapPos(0);
    ui::dim_text(
        "Press Run: outputs appear here, with their largest elements, pictures and plots. Drop a "
        ".npy file or a picture on the window to use it as an input.");
    ImGui::PopTextWrapPos();
    return;
  }
  const float bench = bench_result_ ? std::min(190 * ui::scale(), size.y * 0.4f) : 0;
  const float gap = ImGui::GetStyle().ItemSpacing.y;
  const float height = ImGui::GetContentRegionAvail().y - (bench > 0 ? bench + gap : 0);
  if (result_) {
    const float line = ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y;
    const size_t rows = result_->inputs.size() + result_->outputs.size();
    const float list =
        std::clamp(line * static_cast<float>(rows + 2), 80 * ui::scale(), height * 0.34f);
    draw_outputs({size.x, list});
    draw_selected({size.x, height - list - gap});
  }
  if (bench_result_) draw_bench({size.x, bench});
}

void RunView::draw_outputs(ImVec2 size) {
  const RunResult& r = *result_;
  const size_t inputs = r.inputs.size();
  const auto at = [&](size_t i) -> const NamedTensor& {
    return i < r.outputs.size() ? r.outputs[i] : r.inputs[i - r.outputs.size()];
  };
  const auto difference = [&](size_t i) -> const TensorDifference* {
    if (i >= r.outputs.size()) return nullptr;
    for (const TensorDifference& d : differences_)
      if (d.name == r.outputs[i].name) return &d;
    return nullptr;
  };
  ui::table(
      "run values",
      {{"Role", 0.7f}, {"Name", 2}, {"Type", 1.6f}, {"Bytes", 0.9f, true}, {"Comparison", 3}},
      r.outputs.size() + inputs,
      [&](size_t i, int column) -> std::string {
        const NamedTensor& t = at(i);
        if (column == 0) return i < r.outputs.size() ? "output" : "input";
        if (column == 1) return t.name;
        if (column == 2) return type_text(t.tensor.dtype(), t.tensor.shape());
        if (column == 3) return bytes_text(t.tensor.bytes());
        const TensorDifference* d = difference(i);
        if (!d) return "";
        if (!d->problem.empty()) return d->problem;
        return d->differing ? fmt::format("{} of {} differ by at most {}", d->differing,
                                          d->elements, number_text(d->largest))
                            : fmt::format("equal within the tolerance; largest difference {}",
                                          number_text(d->largest));
      },
      [&](size_t i) { return selected_ == i; }, [&](size_t i) { selected_ = i; }, outputs_state_,
      size,
      [&](size_t i, int column) {
        const TensorDifference* d = column == 4 ? difference(i) : nullptr;
        return !d ? ui::colours().text : d->agrees() ? ui::colours().good : ui::colours().bad;
      });
}

void RunView::draw_selected(ImVec2 size) {
  const RunResult& r = *result_;
  if (r.outputs.size() + r.inputs.size() == 0) return;
  selected_ = std::min(selected_, r.outputs.size() + r.inputs.size() - 1);
  const NamedTensor& t =
      selected_ < r.outputs.size() ? r.outputs[selected_] : r.inputs[selected_ - r.outputs.size()];
  ImGui::BeginChild("selected value", size, true);
  const std::tuple<Page, const char*> pages[] = {
      {Page::values, "Values"}, {Page::top, "Largest"}, {Page::differences, "Differences"}};
  for (const auto& [page, name] : pages) {
    if (page == Page::differences && differences_.empty()) continue;
    if (ui::button(name, nullptr, page_ == page)) page_ = page;
    ImGui::SameLine();
  }
  if (ui::button("Save as .npy")) {
    std::string file = t.name + ".npy";
    std::replace(file.begin(), file.end(), '/', '_');
    const auto path = document_->path.parent_path() / file;
    try {
      save_npy(path, t.tensor);
      message_ = "wrote " + printable(path.string());
    } catch (const std::exception& e) {
      message_ = printable(e.what());
    }
  }
  ImGui::SameLine();
  ui::dim_text(message_);
  const ImVec2 rest = ImGui::GetContentRegionAvail();
  const bool picture = is_picture(t.tensor) && rest.x > 420 * ui::scale();
  const float side = picture ? std::min(rest.y, rest.x * 0.45f) : 0;
  ImGui::BeginChild("value page", {rest.x - (picture ? side + 8 : 0), rest.y}, false,
                    ImGuiWindowFlags_NoBackground);
  if (page_ == Page::differences && !differences_.empty())
    draw_differences(t, ImGui::GetContentRegionAvail());
  else if (page_ == Page::top)
    draw_top(t, ImGui::GetContentRegionAvail().x);
  else
    tensor_.draw(t.name, t.tensor);
  ImGui::EndChild();
  if (picture) {
    ImGui::SameLine(0, 8);
    picture_.draw(t.tensor, {side, rest.y});
  }
  ImGui::EndChild();
}

void RunView::draw_class_names(int64_t length) {
  std::string path = class_file_;
  if (ui::field("class names", "class names: a file with one per line", path, -1))
    set_class_names(path);
  if (!class_error_.empty())
    ui::coloured_text(ui::colours().bad, class_error_);
  else if (!classes_.empty() && std::ssize(classes_) != length)
    ui::dim_text(
        fmt::format("{} class names, but the row has {} elements", classes_.size(), length));
}

void RunView::draw_top_element(size_t rank, int64_t index, double value, double part,
                               const std::string& label, float width) {
  const float line = ImGui::GetTextLineHeight();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float left = 190 * ui::scale();
  ImGui::GetWindowDrawList()->AddRectFilled(
      {at.x + left, at.y + 2},
      {at.x + left + std::max(1.0f, static_cast<float>(part) * (width - left - 8)), at.y + line},
      ui::with_alpha(value < 0 ? ui::colours().warn : ui::colours().accent, 0.6f));
  const std::string place = fmt::format("{}.", rank);
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + ImGui::CalcTextSize("10.").x -
                       ImGui::CalcTextSize(place.c_str()).x);
  ui::text(fmt::format("{}  index {}", place, index));
  ImGui::SameLine(110 * ui::scale());
  ui::text(number_text(value));
  if (label.empty()) return;
  ImGui::SameLine(left + 8 * ui::scale());
  ui::text(label);
}

// Shows one row (the last dimension) as a plot, and its largest elements as bars. Rows of classes
// also have softmax values.
void RunView::draw_top(const NamedTensor& t, float width) {
  const int64_t rows = row_count(t.tensor);
  if (rows == 0) {
    ui::dim_text("No elements");
    return;
  }
  if (rows > 1) {
    ImGui::SetNextItemWidth(-1);
    ImGui::SliderInt("##row", &row_, 0, static_cast<int>(std::min<int64_t>(rows - 1, INT32_MAX)),
                     "row %d");
    ui::mark("row");
  }
  row_ = static_cast<int>(std::clamp<int64_t>(row_, 0, rows - 1));
  top_.draw("plot of the row", t.tensor, row_, {width, 80 * ui::scale()});
  const int64_t length = row_length(t.tensor);
  draw_class_names(length);
  const RowSamples* const samples =
      dtype_bits(t.tensor.dtype()) == 0 ? nullptr : top_.samples(t.tensor, row_);
  if (!samples) return;
  const bool named = !classes_.empty() && std::ssize(classes_) == length;
  if (named && !samples->softmax.empty() && std::isnan(samples->softmax[0]))
    ui::coloured_text(ui::colours().warn,
                      "No softmax, because the row has NaN or infinite elements");
  if (samples->top.empty() && length > 0)
    ui::coloured_text(ui::colours().warn, "All elements of the row are NaN");
  std::vector<double> values;
  double most = 0;  // of the finite ones
  for (const int64_t i : samples->top) {
    values.push_back(tensor_values(t.tensor, row_ * length + i, 1)[0]);
    if (std::isfinite(values.back())) most = std::max(most, std::abs(values.back()));
  }
  for (size_t k = 0; k < values.size(); k++) {
    const double part = std::isinf(values[k]) ? 1 : most > 0 ? std::abs(values[k]) / most : 0;
    std::string label;
    if (named) label = classes_[static_cast<size_t>(samples->top[k])];
    if (named && !std::isnan(samples->softmax[k]))
      label += fmt::format("  {:.1f} %", samples->softmax[k] * 100);
    draw_top_element(k + 1, samples->top[k], values[k], part, label, width);
  }
}

void RunView::draw_differences(const NamedTensor& t, ImVec2 size) {
  const ui::Colours& c = ui::colours();
  const auto found = std::find_if(differences_.begin(), differences_.end(),
                                  [&](const TensorDifference& d) { return d.name == t.name; });
  if (found == differences_.end()) {
    ui::dim_text("There is no other output to compare with");
    return;
  }
  const TensorDifference& d = *found;
  if (!d.problem.empty()) {
    ui::coloured_text(c.bad, d.problem);
    return;
  }
  ui::coloured_text(d.agrees() ? c.good : c.bad,
                    d.agrees() ? fmt::format("Agrees with {}", compared_)
                               : fmt::format("{} of {} elements differ from {}", d.differing,
                                             d.elements, compared_));
  ui::dim_text(fmt::format("largest {} ({} relative), rms {} of {}", number_text(d.largest),
                           number_text(d.largest_relative), number_text(d.rms),
                           number_text(d.rms_right)));
  // Shows the positions of the differences in the tensor, first element at the left, last at the
  // right.
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = 18 * ui::scale();
  ui::hit_area("where it differs", {size.x, height});
  ui::tooltip("Where in the tensor elements differ, the first at the left");
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(at, {at.x + size.x, at.y + height}, c.back);
  const uint64_t most = std::max<uint64_t>(1, *std::max_element(d.where.begin(), d.where.end()));
  const float step = size.x / static_cast<float>(d.where.size());
  for (size_t i = 0; i < d.where.size(); i++)
    if (d.where[i])
      list->AddRectFilled({at.x + step * static_cast<float>(i), at.y},
                          {at.x + step * static_cast<float>(i + 1), at.y + height},
                          ui::heat(static_cast<float>(d.where[i]) / static_cast<float>(most)));
  if (d.worst.empty()) return;
  ui::table(
      "differing elements",
      {{"Element", 1.6f}, {"Here", 1, true}, {"There", 1, true}, {"Difference", 1, true}},
      d.worst.size(),
      [&](size_t i, int column) -> std::string {
        const DifferingElement& e = d.worst[i];
        if (column == 0) return coordinates_text(t.tensor.shape(), e.index);
        return column == 1 ? e.left_text : column == 2 ? e.right_text : number_text(e.difference);
      },
      [](size_t) { return false; }, [](size_t) {}, differences_state_,
      {size.x, ImGui::GetContentRegionAvail().y});
}

void RunView::draw_bench(ImVec2 size) {
  const BenchResult& b = *bench_result_;
  ImGui::BeginChild("benchmark", size, true);
  const float left = 200 * ui::scale();
  ImGui::BeginChild("benchmark numbers", {left, 0});
  ui::coloured_text(ui::colours().accent, "Benchmark");
  ui::row("throughput", rate_text(b.per_second()));
  ui::row("requests", std::to_string(b.requests));
  for (const auto& [name, q] : {std::pair("median", 0.5), std::pair("p90", 0.9),
                                std::pair("p99", 0.99), std::pair("slowest", 1.0)})
    ui::row(name, duration_text(b.latency(q) * 1e6));
  ImGui::EndChild();
  ImGui::SameLine();
  const ImVec2 rest = ImGui::GetContentRegionAvail();
  const float each = (rest.x - 8) / 2;
  // `latency` is in nanoseconds, as other latencies.
  std::vector<ImVec2> rate, latency;
  for (size_t i = 0; i < b.throughput.size(); i++)
    rate.push_back({static_cast<float>((static_cast<double>(i) + 0.5) * b.seconds /
                                       static_cast<double>(b.throughput.size())),
                    static_cast<float>(b.throughput[i])});
  for (int i = 0; i <= 100; i++)
    latency.push_back({static_cast<float>(i), static_cast<float>(b.latency(i / 100.0) * 1e6)});
  ui::plot(
      "Requests per second", {each, rest.y}, {{"", ui::colour_at(0), rate, true}}, 0,
      static_cast<float>(b.seconds), [](double y) { return rate_text(y); },
      [](double x) { return fmt::format("{:.1f} s", x); });
  ImGui::SameLine(0, 8);
  ui::plot(
      "Latency by percentile", {each, rest.y}, {{"", ui::colour_at(1), latency, true}}, 0, 100,
      duration_text, [](double x) { return fmt::format("p{:.0f}", x); }, {}, 0,
      ui::Axis::logarithmic);
  ImGui::EndChild();
}

}  // namespace poprt::inspector
