#include "views/queues_view.h"

#include <gtest/gtest.h>

#include <vector>

#include "inspector/views/workspace_support.h"

namespace poprt::inspector {
namespace {

TEST_F(WorkspaceTest, QueuesWithoutProcessesShowAHint) {
  workspace->show(View::queues);
  settle();
  EXPECT_TRUE(sees("POPRT_TELEMETRY=1 poprt_exec bench"));
}

TEST_F(WorkspaceTest, DrawsQueuesOfARecording) {
  std::string lines = std::string(kRecordingHead) + "\n";
  for (int i = 0; i < 40; i++) {
    runtime::TelemetrySnapshot s;
    s.name = "net";
    s.pid = 5;
    s.started_ns = 1;
    s.alive = true;
    s.completed = static_cast<uint64_t>(i) * 100;
    s.histogram[40] = s.completed;
    s.queues.push_back({"image", false, 8, static_cast<uint64_t>(i % 2), 7, s.completed,
                        s.completed, static_cast<uint64_t>(i) * 20});
    lines += recording_line(1000 + i, {s}) + "\n";
  }
  workspace->open(folder.write("run.telemetry", lines));
  settle();
  EXPECT_EQ(workspace->view(), View::queues);
  for (const char* text :
       {"Queue occupancy", "Throughput", "Latency", "Stalls and failures", "image", "Starving"})
    EXPECT_TRUE(sees(text)) << text;
  EXPECT_TRUE(sees("Freeze"));
  press(' ');
  EXPECT_TRUE(sees("Follow"));
}

TEST_F(WorkspaceTest, DrawsAGeneratorOfARecording) {
  std::string lines = std::string(kRecordingHead) + "\n";
  for (uint64_t i = 0; i < 40; i++) {
    runtime::TelemetrySnapshot s;
    s.name = "llama";
    s.pid = 5;
    s.started_ns = 1;
    s.alive = true;
    s.completed = i * 50;
    s.histogram[100] = s.completed;
    runtime::GeneratorSnapshot& g = s.generator.emplace();
    g.slots = 4;
    g.max_length = 512;
    g.cache_bytes = 3 << 20;
    g.busy = 3;
    g.waiting = 2;
    g.used = 512;
    g.ended = 7;
    g.prompt_tokens = i * 300;
    g.decode_tokens = i * 120;
    lines += recording_line(1000 + static_cast<double>(i), {s}) + "\n";
  }
  workspace->open(folder.write("run.telemetry", lines));
  settle();
  for (const char* text : {"Slots", "Tokens per second", "Cache occupancy", "Duration of a text",
                           "120 tokens/s", "3 of 4 slots", "3 of 4 busy", "2 texts",
                           "120.0 tokens/s", "300.0 tokens/s", "25 % of 3.00 MiB"})
    EXPECT_TRUE(sees(text)) << text;
  EXPECT_FALSE(sees("Queue occupancy"));
}

TEST_F(WorkspaceTest, QueuesZoomScrubAndTakeMarkers) {
  std::string lines = std::string(kRecordingHead) + "\n";
  for (int i = 0; i < 120; i++) {
    std::vector<runtime::TelemetrySnapshot> both(2);
    for (size_t k = 0; k < 2; k++) {
      both[k].name = k ? "second" : "first";
      both[k].pid = 5 + k;
      both[k].started_ns = 1;
      both[k].alive = k == 0 || i < 60;
      both[k].completed = static_cast<uint64_t>(i) * 100;
      both[k].queues.push_back({"image", false, 8, 4, 7, both[k].completed, both[k].completed, 0});
    }
    lines += recording_line(1000 + i, both) + "\n";
  }
  workspace->open(folder.write("two.telemetry", lines));
  settle();
  EXPECT_TRUE(sees("60 s shown") || sees("queue"));
  scroll("Throughput", 3);
  EXPECT_FALSE(sees("Follow"));  // zooming does not stop following the newest samples
  drag("Throughput", 120);
  EXPECT_TRUE(sees("Follow"));
  press('M');
  click("series 1");
  EXPECT_TRUE(sees("found (pid 6)"));
  EXPECT_TRUE(sees("ended (pid 6)"));
  click("all series");
  for (const char* text : {"Fullest queue", "Latency p99"}) EXPECT_TRUE(sees(text)) << text;
}

// Eighty seconds in which a process runs, ends after forty, and another one begins after fifty.
std::string sample_recording() {
  std::string lines = std::string(kRecordingHead) + "\n";
  for (int i = 0; i < 80; i++) {
    std::vector<runtime::TelemetrySnapshot> now;
    if (i < 40 || i >= 50) {
      runtime::TelemetrySnapshot& s = now.emplace_back();
      s.name = "net";
      s.pid = i < 40 ? 5 : 6;
      s.started_ns = s.pid;
      s.alive = true;
      s.completed = static_cast<uint64_t>(i) * 100;
      s.in_flight = 3;
      s.queues.push_back({"image", false, 8, i < 20 ? 8u : 4u, 8, 1000 + static_cast<uint64_t>(i),
                          s.completed, 0});
    }
    lines += recording_line(1000 + i, now) + "\n";
  }
  return lines;
}

TEST_F(WorkspaceTest, QueuesShowTheMomentThatIsLookedAt) {
  workspace->open(folder.write("run.telemetry", sample_recording()));
  settle();
  EXPECT_TRUE(sees("At "));
  EXPECT_FALSE(sees("Now"));
  EXPECT_TRUE(sees("1079"));
  EXPECT_TRUE(sees("4 (50 %)"));
  press(ui::kLeft);  // fifteen seconds
  EXPECT_TRUE(sees("1064"));
  EXPECT_FALSE(sees("1079"));
  press(ui::kLeft);  // between the two processes
  EXPECT_TRUE(sees("no process published at this time"));
  EXPECT_FALSE(sees("4 (50 %)"));
  press(ui::kLeft);
  EXPECT_TRUE(sees("4 (50 %)"));
  press(ui::kLeft);
  EXPECT_TRUE(sees("8 (100 %, full)"));
  EXPECT_TRUE(sees("Full: "));
}

TEST_F(WorkspaceTest, AMarkStaysInItsRecordingAndInTheEvents) {
  const auto path = folder.write("run.telemetry", sample_recording());
  workspace->open(path);
  settle();
  press(ui::kLeft);
  press('M');
  settle();
  EXPECT_TRUE(sees("  mark 1")) << "among the events";
  EXPECT_TRUE(ui::find_mark("mark 1")) << "in the plots";
  ASSERT_EQ(read_recording(path).marks().size(), 1u);
  EXPECT_NEAR(read_recording(path).marks()[0].time, 1064, 0.1);
  // Nothing is written after the unfinished entry of a killed process.
  workspace->open(folder.write("cut.telemetry", sample_recording() + "{\"time\": 2000, \"seg"));
  settle();
  press('M');
  settle();
  EXPECT_TRUE(sees("the mark is not stored"));
  EXPECT_TRUE(read_recording(folder.path / "cut.telemetry").marks().empty());
}

TEST_F(WorkspaceTest, QueuesShowRequestsThatUsedNoQueue) {
  std::string lines = std::string(kRecordingHead) + "\n";
  for (int i = 0; i < 30; i++) {
    runtime::TelemetrySnapshot s;
    s.name = "net";
    s.pid = 5;
    s.alive = true;
    s.completed = 22000 + static_cast<uint64_t>(i);
    s.queues.push_back({"image", false, 8, 0, 0, 0, 0, 0});
    lines += recording_line(1000 + i, {s}) + "\n";
  }
  workspace->open(folder.write("run.telemetry", lines));
  settle();
  EXPECT_TRUE(sees("0 + 22029 direct"));
  EXPECT_TRUE(sees("not used"));
  EXPECT_FALSE(sees("0 (0 %)"));
}

TEST_F(WorkspaceTest, AQueueLightsUpItsAnchor) {
  runtime::TelemetrySnapshot s;
  s.name = "net";
  s.pid = 5;
  s.alive = true;
  s.queues.push_back({"d", true, 8, 4, 7, 10, 10, 0});
  open_sample();
  workspace->open(folder.write(
      "one.telemetry", std::string(kRecordingHead) + "\n" + recording_line(1000, {s}) + "\n"));
  settle();
  click("d");
  EXPECT_TRUE(sees("anchor d"));
  press(ui::kTab, true);
  workspace->show(View::graph);
  settle();
  const int node = workspace->graph()->selected();
  ASSERT_NE(node, kNone);
  EXPECT_EQ(workspace->document()->graph->node(node).kind, NodeKind::output);
}

}  // namespace
}  // namespace poprt::inspector
