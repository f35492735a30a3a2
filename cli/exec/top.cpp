// poprt_exec top: shows the activity of other processes' sessions from their telemetry.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "common/arguments.h"
#include "common/json.h"
#include "common/text_wrapping.h"
#include "exec/commands.h"
#include "exec/support/telemetry_table.h"
#include "poprt/telemetry.h"

namespace poprt::cli {
namespace {

struct TopSettings {
  std::string folder;
  bool json = false;
  double interval = 1;
  int64_t count = 0;
};

std::string read(const TopSettings& s) {
  poprt_string* text = nullptr;
  check(poprt_telemetry_read(s.folder.empty() ? nullptr : s.folder.c_str(), &text));
  return take(text);
}

int run(const TopSettings& s) {
  TelemetryTable table;
  const bool screen = !s.json && isatty(STDOUT_FILENO);
  const int64_t count = s.count > 0 ? s.count : screen ? INT64_MAX : 1;
  for (int64_t i = 0; i < count; i++) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::duration<double>(s.interval));
    const std::string text = read(s);
    if (s.json)
      fmt::print("{}\n", to_text(parse_json(text)));
    else
      fmt::print("{}{}", screen ? "\x1b[H\x1b[2J" : "",
                 table.text(parse_json(text), screen ? screen_width() : TelemetryTable::kAnyWidth));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

void add_top(Command& app, std::function<int()>& action) {
  auto* command = app.add_command(
      "top", "Show the activity of other processes' sessions (those with POPRT_TELEMETRY=1).");
  auto s = std::make_shared<TopSettings>();
  command->add_option("--folder", s->folder,
                      "Telemetry folder; default POPRT_TELEMETRY_DIR or the user's runtime folder");
  command->add_flag("--json", s->json, "As JSON, a line for each update");
  command->add_option("--interval", s->interval, "Seconds between two updates; default 1")
      ->check(between(0.01, 3600.0));
  command
      ->add_option("--count", s->count,
                   "Number of updates; default: unlimited on a terminal, else one")
      ->check(at_least<int64_t>(1));
  command->callback([s, &action] { action = [s] { return run(*s); }; });
}

}  // namespace poprt::cli
