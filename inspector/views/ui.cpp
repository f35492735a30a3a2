#include "views/ui.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "model/format.h"
#include "model/palette.h"

namespace poprt::inspector::ui {
namespace {

constexpr ImU32 rgb(uint32_t hex) {
  return IM_COL32((hex >> 16) & 255, (hex >> 8) & 255, hex & 255, 255);
}

constexpr Colours kDark = {rgb(0x14161a), rgb(0x1c1f26), rgb(0x282c35), rgb(0x3a3f4b),
                           rgb(0xe4e7ec), rgb(0x98a0ae), rgb(0x5aa2ff), rgb(0x4cc38a),
                           rgb(0xf2b84b), rgb(0xff6b64), rgb(0xffd54a), rgb(0xff9a3d),
                           rgb(0x2a2e37), rgb(0xcf8be0)};
constexpr Colours kLight = {rgb(0xf3f4f7), rgb(0xffffff), rgb(0xe8ebf0), rgb(0xc9ced8),
                            rgb(0x1c2129), rgb(0x5d6675), rgb(0x1b66d6), rgb(0x1a8a56),
                            rgb(0xa86a00), rgb(0xc9302c), rgb(0xd9a400), rgb(0xd86a00),
                            rgb(0xe4e7ec), rgb(0x8a3fa0)};
struct State {
  Theme theme = Theme::dark;
  float scale = 1;
  ImFont* fixed = nullptr;  // the context of ImGui owns it
  std::vector<Mark> marks;
  std::map<std::string, float> panels;
  std::set<ImWchar> missing;  // drawn characters that are not in kLatin
  bool fonts_wanted = false;
  bool table_scrolls = false;           // horizontally, while its rows are drawn
  std::vector<ImWchar> missing_ranges;  // ImGui keeps a pointer to it
  std::string copied;
};
State& state() {
  static State s;
  return s;
}

ImVec4 vec(ImU32 c) { return ImGui::ColorConvertU32ToFloat4(c); }

const char* font_file(const char* name) {
  static std::array<std::string, 2> found;
  std::string& path = found[std::string_view(name).find("Mono") == std::string_view::npos ? 0 : 1];
  for (const char* folder :
       {"/usr/share/fonts/truetype/dejavu/", "/usr/share/fonts/dejavu/", "/usr/share/fonts/TTF/"}) {
    path = std::string(folder) + name;
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return path.c_str();
  }
  return nullptr;
}

// Latin, Greek, Cyrillic, punctuation, arrows, mathematics and shapes, from the font of most texts.
constexpr ImWchar kRanges[] = {0x20,   0x24f,  0x250,  0x52f,  0x2000, 0x206f, 0x2070,
                               0x209f, 0x20a0, 0x20bf, 0x2190, 0x22ff, 0x2500, 0x25ff,
                               0x2600, 0x26ff, 0x2700, 0x27bf, 0};
// Limits the number of single characters from other fonts, because an atlas of all would be huge.
constexpr size_t kMostMissing = 4000;
constexpr const char* kOtherFonts[] = {"truetype/dejavu/DejaVuSans.ttf",
                                       "opentype/noto/NotoSansCJK-Regular.ttc",
                                       "truetype/wqy/wqy-microhei.ttc",
                                       "truetype/wqy/wqy-zenhei.ttc",
                                       "truetype/droid/DroidSansFallbackFull.ttf",
                                       "truetype/noto/NotoSans-Regular.ttf",
                                       "truetype/freefont/FreeSans.ttf",
                                       "opentype/unifont/unifont.otf",
                                       "truetype/unifont/unifont.ttf"};
constexpr ImWchar kLatin[] = {0x20, 0x17f, 0x2010, 0x2027, 0x2190, 0x2193, 0xd7, 0xd7, 0};

bool is_in_every_font(uint32_t code) {
  for (size_t i = 0; kLatin[i]; i += 2)
    if (code >= kLatin[i] && code <= kLatin[i + 1]) return true;
  return false;
}

// Records characters that are not in all of the loaded fonts.
void note_characters(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    if (lead < 0xc2) continue;
    const int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    uint32_t code = lead & (0x3fu >> more);
    for (int k = 0; k < more && i < text.size(); k++)
      code = code << 6 | (static_cast<unsigned char>(text[i++]) & 0x3fu);
    if (code > IM_UNICODE_CODEPOINT_MAX || is_in_every_font(code)) continue;
    State& s = state();
    if (s.missing.size() < kMostMissing && s.missing.insert(static_cast<ImWchar>(code)).second)
      s.fonts_wanted = true;
  }
}

void add_missing(float size) {
  if (state().missing_ranges.empty()) return;
  ImFontConfig config;
  config.MergeMode = true;
  config.OversampleH = 1;
  for (const char* name : kOtherFonts) {
    const std::string file = std::string("/usr/share/fonts/") + name;
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored))
      ImGui::GetIO().Fonts->AddFontFromFileTTF(file.c_str(), size, &config,
                                               state().missing_ranges.data());
  }
}

}  // namespace

bool take_fonts_wanted() { return std::exchange(state().fonts_wanted, false); }

const Colours& colours() { return state().theme == Theme::dark ? kDark : kLight; }
Theme theme() { return state().theme; }
float scale() { return state().scale; }

void set_theme(Theme wanted, float display_scale) {
  state().theme = wanted;
  state().scale = display_scale;
  const Colours& c = colours();
  ImGuiStyle style;
  wanted == Theme::dark ? ImGui::StyleColorsDark(&style) : ImGui::StyleColorsLight(&style);
  style.WindowPadding = {10, 8};
  style.FramePadding = {9, 5};
  style.ItemSpacing = {8, 6};
  style.CellPadding = {7, 3};
  style.FrameRounding = style.PopupRounding = style.GrabRounding = style.TabRounding = 4;
  style.WindowRounding = 6;
  style.ChildRounding = 4;
  style.ScrollbarSize = 12;
  style.WindowBorderSize = style.ChildBorderSize = style.PopupBorderSize = 1;
  style.FrameBorderSize = 0;
  ImVec4* v = style.Colors;
  v[ImGuiCol_Text] = vec(c.text);
  v[ImGuiCol_TextDisabled] = vec(c.dim);
  v[ImGuiCol_WindowBg] = vec(c.back);
  v[ImGuiCol_ChildBg] = vec(c.panel);
  v[ImGuiCol_PopupBg] = vec(c.panel);
  v[ImGuiCol_Border] = vec(c.border);
  v[ImGuiCol_FrameBg] = v[ImGuiCol_Button] = vec(c.raised);
  v[ImGuiCol_FrameBgHovered] = v[ImGuiCol_ButtonHovered] = vec(mixed(c.raised, c.accent, 0.25f));
  v[ImGuiCol_FrameBgActive] = v[ImGuiCol_ButtonActive] = vec(mixed(c.raised, c.accent, 0.45f));
  v[ImGuiCol_Header] = vec(mixed(c.panel, c.accent, 0.3f));
  v[ImGuiCol_HeaderHovered] = vec(mixed(c.panel, c.accent, 0.2f));
  v[ImGuiCol_HeaderActive] = vec(mixed(c.panel, c.accent, 0.4f));
  v[ImGuiCol_Tab] = v[ImGuiCol_TabUnfocused] = vec(c.raised);
  v[ImGuiCol_TabHovered] = vec(mixed(c.raised, c.accent, 0.35f));
  v[ImGuiCol_TabActive] = v[ImGuiCol_TabUnfocusedActive] = vec(mixed(c.raised, c.accent, 0.55f));
  v[ImGuiCol_TableHeaderBg] = vec(c.raised);
  v[ImGuiCol_TableBorderStrong] = v[ImGuiCol_TableBorderLight] = vec(c.grid);
  v[ImGuiCol_TableRowBg] = vec(c.panel);
  v[ImGuiCol_TableRowBgAlt] = vec(mixed(c.panel, c.raised, 0.35f));
  v[ImGuiCol_Separator] = vec(c.border);
  v[ImGuiCol_CheckMark] = v[ImGuiCol_SliderGrab] = v[ImGuiCol_PlotHistogram] = vec(c.accent);
  v[ImGuiCol_ScrollbarBg] = vec(with_alpha(c.back, 0.4f));
  v[ImGuiCol_ScrollbarGrab] = vec(c.border);
  v[ImGuiCol_TextSelectedBg] = vec(with_alpha(c.accent, 0.4f));
  style.ScaleAllSizes(display_scale);
  ImGui::GetStyle() = style;
}

ImU32 with_alpha(ImU32 colour, float alpha) {
  return (colour & ~IM_COL32_A_MASK) | (static_cast<ImU32>(alpha * 255 + 0.5f) << IM_COL32_A_SHIFT);
}

ImU32 mixed(ImU32 a, ImU32 b, float part) {
  const auto channel = [&](int shift) {
    const float x = static_cast<float>((a >> shift) & 255),
                y = static_cast<float>((b >> shift) & 255);
    return static_cast<ImU32>(x + (y - x) * part + 0.5f) << shift;
  };
  return channel(IM_COL32_R_SHIFT) | channel(IM_COL32_G_SHIFT) | channel(IM_COL32_B_SHIFT) |
         IM_COL32_A_MASK;
}

ImU32 colour_of(std::string_view name) { return rgb(colour_of_name(name)); }

ImU32 colour_at(size_t index) { return rgb(hue_at(index)); }

ImU32 colour_of(Change change) {
  const Colours& c = colours();
  return change == Change::added     ? c.good
         : change == Change::removed ? c.gone
         : change == Change::changed ? c.warn
                                     : c.dim;
}

ImU32 heat(float part) {
  const float p = std::clamp(part, 0.0f, 1.0f);
  // No part of the scale is similar to the grey of nodes without a value.
  const ImU32 cold = rgb(0x2448c8), warm = rgb(0xcc3f73), hot = rgb(0xf4c02f);
  return p < 0.5f ? mixed(cold, warm, p * 2) : mixed(warm, hot, p * 2 - 1);
}

float contrast(ImU32 a, ImU32 b) {
  const auto luminance = [](ImU32 c) {
    const auto part = [&](int shift) {
      const float v = static_cast<float>((c >> shift) & 255) / 255;
      return v <= 0.04045f ? v / 12.92f : std::pow((v + 0.055f) / 1.055f, 2.4f);
    };
    return 0.2126f * part(IM_COL32_R_SHIFT) + 0.7152f * part(IM_COL32_G_SHIFT) +
           0.0722f * part(IM_COL32_B_SHIFT) + 0.05f;
  };
  const float x = luminance(a), y = luminance(b);
  return std::max(x, y) / std::min(x, y);
}

ImU32 readable(ImU32 colour, ImU32 back) {
  const ImU32 black = rgb(0x101216), white = rgb(0xffffff);
  const ImU32 end = contrast(black, back) > contrast(white, back) ? black : white;
  ImU32 made = colour;
  for (float part = 0; part <= 1 && contrast(made, back) < kReadable + 0.1f; part += 0.05f)
    made = mixed(colour, end, part);
  return made;
}

void load_fonts(float display_scale) {
  ImGuiIO& io = ImGui::GetIO();
  io.Fonts->Clear();
  state().fixed = nullptr;
  io.Fonts->TexDesiredWidth = 2048;
  state().missing_ranges.clear();
  for (const ImWchar c : state().missing)
    state().missing_ranges.insert(state().missing_ranges.end(), {c, c});
  if (!state().missing.empty()) state().missing_ranges.push_back(0);
  ImFontConfig config;
  config.OversampleH = 2;
  config.OversampleV = 1;
  if (const char* file = font_file("DejaVuSans.ttf")) {
    io.Fonts->AddFontFromFileTTF(file, std::round(14 * display_scale), &config, kRanges);
    add_missing(std::round(14 * display_scale));
    config.OversampleH = 1;
    for (const float size : {9.0f, 11.0f, 18.0f, 25.0f, 34.0f}) {
      io.Fonts->AddFontFromFileTTF(file, std::round(size * display_scale), &config, kLatin);
      add_missing(std::round(size * display_scale));
    }
  }
  if (const char* file = font_file("DejaVuSansMono.ttf")) {
    state().fixed =
        io.Fonts->AddFontFromFileTTF(file, std::round(13 * display_scale), &config, kLatin);
    add_missing(std::round(13 * display_scale));
  }
  if (io.Fonts->Fonts.empty()) io.Fonts->AddFontDefault();
}

ImFont* font_for(float pixels) {
  ImFont* best = nullptr;
  const auto distance = [&](const ImFont* f) { return std::abs(std::log(f->FontSize / pixels)); };
  for (ImFont* f : ImGui::GetIO().Fonts->Fonts)
    if (f != state().fixed && (!best || distance(f) < distance(best))) best = f;
  return best ? best : ImGui::GetFont();
}

ImFont* fixed_font() {
  return ImGui::GetIO().Fonts->Fonts.contains(state().fixed) ? state().fixed : ImGui::GetFont();
}

void map_keys() {
  int* map = ImGui::GetIO().KeyMap;
  map[ImGuiKey_Tab] = kTab;
  map[ImGuiKey_LeftArrow] = kLeft;
  map[ImGuiKey_RightArrow] = kRight;
  map[ImGuiKey_UpArrow] = kUp;
  map[ImGuiKey_DownArrow] = kDown;
  map[ImGuiKey_PageUp] = kPageUp;
  map[ImGuiKey_PageDown] = kPageDown;
  map[ImGuiKey_Home] = kHome;
  map[ImGuiKey_End] = kEnd;
  map[ImGuiKey_Delete] = kDelete;
  map[ImGuiKey_Backspace] = kBackspace;
  map[ImGuiKey_Enter] = kEnter;
  map[ImGuiKey_Escape] = kEscape;
  map[ImGuiKey_Space] = ' ';
  map[ImGuiKey_A] = 'A';
  map[ImGuiKey_C] = 'C';
  map[ImGuiKey_V] = 'V';
  map[ImGuiKey_X] = 'X';
  map[ImGuiKey_Y] = 'Y';
  map[ImGuiKey_Z] = 'Z';
}

bool pressed(int key, bool control, bool shift) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool typing = io.WantTextInput && !control && key < kEscape;
  const bool repeats = (key >= kRight && key <= kPageDown) || key == '=' || key == '-';
  return !typing && io.KeyCtrl == control && io.KeyShift == shift &&
         ImGui::IsKeyPressed(key, repeats);
}

std::vector<Mark>& marks() { return state().marks; }

void mark(std::string_view name) { mark(name, ImGui::GetItemRectMin(), ImGui::GetItemRectMax()); }

void mark(std::string_view name, ImVec2 least, ImVec2 most) {
  note_characters(name);
  const std::string_view shown = name.substr(0, name.find("##"));
  state().marks.push_back({std::string(shown.empty() ? name : shown), least, most});
}

namespace {

// Draws a text, of which the middle is left out if it is very long. ImGui numbers the vertices of a
// text with 16 bits, four for each character, also for characters below the window if the text is
// wrapped; it ends the program if they are not enough.
void draw_text(std::string_view line) {
  constexpr size_t kMostBytes = 8192;
  const std::string part = line.size() > kMostBytes ? shortened(line, kMostBytes) : std::string();
  if (!part.empty()) line = part;
  ImGui::TextUnformatted(line.data(), line.data() + line.size());
}

// Marks the last item as a text, so that a test can check that it is visible.
void mark_text(std::string_view line) {
  mark(line);
  Mark& last = state().marks.back();
  last.list = ImGui::GetWindowDrawList();
  last.clip_least = last.list->GetClipRectMin();
  last.clip_most = last.list->GetClipRectMax();
  last.colour = ImGui::GetColorU32(ImGuiCol_Text);
  last.scrolls = state().table_scrolls;
}

}  // namespace

const Mark* find_mark(std::string_view name) {
  for (const Mark& m : state().marks)
    if (m.name == name) return &m;
  return nullptr;
}

bool button(const char* label, const char* tip, bool active) {
  if (active) {
    const ImVec4 colour = ImGui::GetStyleColorVec4(ImGuiCol_TabActive);
    ImGui::PushStyleColor(ImGuiCol_Button, colour);
    ImGui::PushStyleColor(ImGuiCol_ButtonHovered, colour);
  }
  const bool clicked = ImGui::Button(label);
  if (active) ImGui::PopStyleColor(2);
  mark(label);
  if (tip) tooltip(tip);
  return clicked;
}

bool pick(std::string_view line, bool chosen) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float room = ImGui::GetContentRegionAvail().x;
  const bool clicked = ImGui::Selectable("##pick", chosen);
  const std::string shown = fitted(line, room);
  label(ImGui::GetWindowDrawList(), at, ImGui::GetColorU32(ImGuiCol_Text), shown);
  mark(line);
  return clicked;
}

void same_line_if_fits(const char* label) {
  const ImGuiStyle& style = ImGui::GetStyle();
  const float needed =
      style.ItemSpacing.x + ImGui::CalcTextSize(label).x + 2 * style.FramePadding.x;
  if (ImGui::GetItemRectMax().x + needed <=
      ImGui::GetWindowPos().x + ImGui::GetWindowContentRegionMax().x)
    ImGui::SameLine();
}

void text(std::string_view line) {
  draw_text(line);
  mark_text(line);
}

void label(ImDrawList* list, ImVec2 at, ImU32 colour, std::string_view line, ImFont* font,
           float size) {
  if (line.empty()) return;
  if (!font) font = ImGui::GetFont();
  if (size <= 0) size = ImGui::GetFontSize();
  const char *begin = line.data(), *end = begin + line.size();
  const ImVec2 extent = font->CalcTextSizeA(size, FLT_MAX, 0, begin, end);
  list->AddText(font, size, at, colour, begin, end);
  mark("label " + std::string(line), at, {at.x + extent.x, at.y + extent.y});
  Mark& last = state().marks.back();
  last.list = list;
  last.clip_least = list->GetClipRectMin();
  last.clip_most = list->GetClipRectMax();
  last.colour = colour;
}

std::string fitted(std::string_view line, float room, Cut cut, const ImFont* font, float size) {
  const auto width = [&](std::string_view s) {
    return font ? font->CalcTextSizeA(size, FLT_MAX, 0, s.data(), s.data() + s.size()).x
                : ImGui::CalcTextSize(s.data(), s.data() + s.size()).x;
  };
  if (width(line) <= room) return std::string(line);
  constexpr std::string_view kCut = "\xE2\x80\xA6";
  room -= width(kCut);
  const bool path = cut == Cut::by_kind && line.find('/') != line.npos;
  size_t least = 0, most = line.size();  // bytes that are kept
  while (least < most) {
    const size_t n = (least + most + 1) / 2;
    if (width(path ? line.substr(line.size() - n) : line.substr(0, n)) <= room)
      least = n;
    else
      most = n - 1;
  }
  const auto inside = [&](size_t at) {  // whether `at` is inside a character
    return at < line.size() && (static_cast<unsigned char>(line[at]) & 0xC0) == 0x80;
  };
  while (least > 0 && inside(path ? line.size() - least : least)) least--;
  return path ? std::string(kCut) + std::string(line.substr(line.size() - least))
              : std::string(line.substr(0, least)) + std::string(kCut);
}

void fitted_text(std::string_view line) {
  const std::string shown = fitted(line, ImGui::GetContentRegionAvail().x);
  ImGui::TextUnformatted(shown.data(), shown.data() + shown.size());
  mark_text(line);
  if (shown != line) tooltip(line);
}

void coloured_text(ImU32 colour, std::string_view line) {
  ImGui::PushStyleColor(ImGuiCol_Text, readable(colour, colours().back));
  text(line);
  ImGui::PopStyleColor();
}

void fitted_dim_text(std::string_view line) {
  ImGui::PushStyleColor(ImGuiCol_Text, colours().dim);
  const std::string shown = fitted(line, ImGui::GetContentRegionAvail().x, Cut::end);
  ImGui::TextUnformatted(shown.data(), shown.data() + shown.size());
  ImGui::PopStyleColor();
  mark_text(line);
  if (shown != line) tooltip(line);
}

void dim_text(std::string_view line) { coloured_text(colours().dim, line); }

// ImGui's separator would extend through all columns.
void heading(std::string_view line) {
  ImGui::Dummy({0, 2 * scale()});
  coloured_text(colours().accent, line);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::GetWindowDrawList()->AddLine(at, {at.x + ImGui::GetContentRegionAvail().x, at.y},
                                      colours().border);
  ImGui::Dummy({0, 2 * scale()});
}

void row(std::string_view name, std::string_view value, float column) {
  ImGui::PushID(name.data(), name.data() + name.size());
  // The distance is relative to the name, because an offset of SameLine() is relative to the column
  // of a table, but a cursor position to its window.
  const float width = ImGui::CalcTextSize(name.data(), name.data() + name.size()).x;
  const float to_value = (column > 0 ? column : 118 * scale()) - ImGui::GetStyle().WindowPadding.x;
  dim_text(name);
  ImGui::SameLine(0, std::max(to_value - width, 12 * scale()));
  ImGui::PushTextWrapPos(0);
  text(value);
  ImGui::PopTextWrapPos();
  if (ImGui::IsItemClicked()) copy(value);
  if (ImGui::IsItemHovered()) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  ImGui::PopID();
}

void hit_area(const char* name, ImVec2 size) {
  ImGui::InvisibleButton(name, {std::max(size.x, 1.0f), std::max(size.y, 1.0f)});
  mark(name);
}

void copy(std::string_view text) {
  state().copied = text;
  ImGui::SetClipboardText(state().copied.c_str());
}

std::string take_copied() { return std::exchange(state().copied, {}); }

void tooltip(std::string_view line) {
  if (!ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) return;
  tooltip_at(line, ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
}

void tooltip_at(std::string_view line, ImVec2 least, ImVec2 most) {
  const ImVec2 screen = ImGui::GetIO().DisplaySize, mouse = ImGui::GetIO().MousePos;
  const ImVec2 padding = ImGui::GetStyle().WindowPadding;
  const float gap = 4 * scale(), wrap = 480 * scale();
  ImVec2 extent = ImGui::CalcTextSize(line.data(), line.data() + line.size(), false, wrap);
  extent = {extent.x + 2 * padding.x, extent.y + 2 * padding.y};
  const bool below = most.y + gap + extent.y < screen.y, above = least.y - gap - extent.y > 0;
  // The tooltip is next to a small item, but at the pointer in a large area such as a plot.
  if (most.y - least.y < 6 * ImGui::GetFrameHeight() && (below || above)) {
    const ImVec2 at = {
        std::clamp(mouse.x - 40 * scale(), 0.0f, std::max(0.0f, screen.x - extent.x)),
        below ? most.y + gap : least.y - gap - extent.y};
    ImGui::SetNextWindowPos(at);
    mark("tooltip", at, {at.x + extent.x, at.y + extent.y});
  }
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(wrap);
  draw_text(line);
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

std::map<std::string, float>& panels() { return state().panels; }

float panel(const char* name, float standard, float least, float most) {
  const auto kept = state().panels.find(name);
  const float wanted = (kept == state().panels.end() ? standard : kept->second) * scale();
  return std::max(std::min(wanted, most), least);
}

void splitter(const char* name, float height, bool right) {
  ImGui::SameLine(0, 0);
  const float width = ImGui::GetStyle().ItemSpacing.x;
  const std::string id = std::string("splitter ") + name;
  const ImVec2 left = ImGui::GetItemRectMin();
  hit_area(id.c_str(), {width, height});
  const bool active = ImGui::IsItemActive();
  if (active || ImGui::IsItemHovered()) {
    ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
    const ImVec2 least = ImGui::GetItemRectMin(), most = ImGui::GetItemRectMax();
    ImGui::GetWindowDrawList()->AddRectFilled({least.x + width / 2 - 1, least.y},
                                              {least.x + width / 2 + 1, most.y}, colours().accent);
  }
  if (active) {
    const float pointer = ImGui::GetIO().MousePos.x - width / 2;
    const float end = ImGui::GetWindowPos().x + ImGui::GetWindowContentRegionMax().x;
    state().panels[name] =
        std::max(60.0f, right ? end - pointer - width : pointer - left.x) / scale();
  }
  ImGui::SameLine(0, 0);
}

bool field(const char* id, const char* hint, std::string& value, float width,
           ImGuiInputTextFlags flags) {
  std::array<char, 4096> buffer{};  // long enough for paths
  std::copy_n(value.data(), std::min(value.size(), buffer.size() - 1), buffer.data());
  ImGui::SetNextItemWidth(width);
  const std::string hidden =
      std::string("##") + id;  // without a label, because the hint describes the field
  const std::string fits =
      fitted(hint, ImGui::CalcItemWidth() - 2 * ImGui::GetStyle().FramePadding.x, Cut::end);
  const bool changed =
      ImGui::InputTextWithHint(hidden.c_str(), fits.c_str(), buffer.data(), buffer.size(), flags);
  mark(id);
  if (changed) value = buffer.data();
  return changed;
}

bool choice(const char* id, const std::vector<std::string>& names, int& chosen, float width) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = ImGui::GetFrameHeight();
  const bool known = chosen >= 0 && static_cast<size_t>(chosen) < names.size();
  const std::string shown =
      known ? fitted(names[static_cast<size_t>(chosen)],
                     width - height - 2 * ImGui::GetStyle().FramePadding.x, Cut::end)
            : std::string();
  bool changed = false;
  ImGui::SetNextItemWidth(width);
  if (ImGui::BeginCombo((std::string("##") + id).c_str(), shown.c_str())) {
    for (size_t i = 0; i < names.size(); i++) {
      ImGui::PushID(static_cast<int>(i));
      const bool now = static_cast<int>(i) == chosen;
      if (ImGui::Selectable("##name", now) && !now) {
        chosen = static_cast<int>(i);
        changed = true;
      }
      mark(names[i]);
      ImGui::SameLine(ImGui::GetStyle().FramePadding.x);
      ImGui::TextUnformatted(names[i].c_str());
      if (now) ImGui::SetItemDefaultFocus();
      ImGui::PopID();
    }
    ImGui::EndCombo();
  }
  mark(id, at, {at.x + width, at.y + height});
  return changed;
}

namespace {

using Cell = std::function<std::string(size_t, int)>;

// Returns the width in which numbers are complete and texts can be recognised. The first column of
// texts has the names of the rows.
float least_width(const std::vector<Column>& columns, const TableState& state) {
  const float letter = ImGui::GetFontSize();
  float width = 0;
  bool names = true;
  for (size_t c = 0; c < columns.size(); c++) {
    width += 2 * ImGui::GetStyle().CellPadding.x + 1;
    if (columns[c].right || columns[c].fits) {
      width += c < state.widths.size() ? state.widths[c] : 0;
    } else {
      width += std::exchange(names, false) ? 5 * letter : 3.5f * letter;
    }
  }
  return width + ImGui::GetStyle().ScrollbarSize;
}

void draw_header(const std::vector<Column>& columns, TableState& state) {
  state.widths.resize(columns.size());
  // The space that ImGui reserves for the arrow in every sortable column.
  const float arrow =
      state.sort_column < 0
          ? 0
          : std::ceil(ImGui::GetFontSize() * 0.65f + ImGui::GetStyle().FramePadding.x);
  for (size_t c = 0; c < columns.size(); c++)
    state.widths[c] = std::max(state.widths[c], ImGui::CalcTextSize(columns[c].name).x + arrow + 1);
  ImGui::TableSetupScrollFreeze(0, 1);
  for (size_t c = 0; c < columns.size(); c++)
    ImGui::TableSetupColumn(
        columns[c].name,
        // Columns of numbers do not shrink, because a truncated number would be a wrong number.
        (columns[c].right || columns[c].fits
             ? ImGuiTableColumnFlags_WidthFixed | ImGuiTableColumnFlags_NoResize
             : ImGuiTableColumnFlags_None) |
            (static_cast<int>(c) == state.sort_column ? ImGuiTableColumnFlags_DefaultSort
                                                      : ImGuiTableColumnFlags_None) |
            // The first click on a column of numbers sorts in descending order.
            ((static_cast<int>(c) == state.sort_column ? state.descending : columns[c].right)
                 ? ImGuiTableColumnFlags_PreferSortDescending
                 : ImGuiTableColumnFlags_None),
        columns[c].right || columns[c].fits ? state.widths[c] : columns[c].width);
  ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
  for (size_t c = 0; c < columns.size(); c++) {
    ImGui::TableSetColumnIndex(static_cast<int>(c));
    // Headings of numbers are aligned to the right.
    const float slack =
        ImGui::GetContentRegionAvail().x - ImGui::CalcTextSize(columns[c].name).x - arrow - 1;
    if (columns[c].right && slack > 0) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + slack);
    ImGui::TableHeader(columns[c].name);
    mark(columns[c].name);
  }
}

bool sort_changed(TableState& state) {
  if (state.sort_column < 0) return false;
  ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs();
  if (!specs || !specs->SpecsDirty || specs->SpecsCount == 0) return false;
  state.sort_column = specs->Specs[0].ColumnIndex;
  state.descending = specs->Specs[0].SortDirection == ImGuiSortDirection_Descending;
  specs->SpecsDirty = false;
  return true;
}

std::string row_text(size_t columns, size_t row, const Cell& cell) {
  std::string line;
  for (size_t c = 0; c < columns; c++) line += (c ? "\t" : "") + cell(row, static_cast<int>(c));
  return line + "\n";
}

std::string rows_text(const std::vector<Column>& columns, size_t count, const Cell& cell) {
  std::string text;
  for (size_t c = 0; c < columns.size(); c++)
    text += (c ? "\t" : "") + std::string(columns[c].name);
  text += "\n";
  for (size_t r = 0; r < count; r++) text += row_text(columns.size(), r, cell);
  return text;
}

void draw_menu(const std::vector<Column>& columns, size_t count, const Cell& cell,
               const TableState& state) {
  if (!ImGui::BeginPopup("copy")) return;
  const bool valid = state.menu_row < count;
  const auto item = [](const char* name) {
    const bool clicked = ImGui::Selectable(name);
    mark(name);
    return clicked;
  };
  if (valid && item("Copy cell")) copy(cell(state.menu_row, state.menu_column));
  if (valid && item("Copy row")) copy(row_text(columns.size(), state.menu_row, cell));
  if (item("Copy table")) copy(rows_text(columns, count, cell));
  ImGui::EndPopup();
}

// Whether the row is in a range of several rows.
bool in_range(const TableState& state, size_t row) {
  const auto [first, last] = std::minmax(state.range_first, state.range_last);
  const auto at = static_cast<int>(row);
  return first != last && first >= 0 && at >= first && at <= last;
}

// Ctrl+C over the table copies, unless text is selected in a field.
void copy_selected(const std::vector<Column>& columns, size_t count, const Cell& cell,
                   const std::function<bool(size_t)>& selected, const TableState& state) {
  if (!ImGui::IsWindowHovered() || ImGui::GetIO().WantTextInput || !pressed('C', true)) return;
  std::string text;
  for (size_t r = 0; r < count; r++)
    if (selected(r) || in_range(state, r)) text += row_text(columns.size(), r, cell);
  if (text.empty()) text = rows_text(columns, count, cell);
  copy(text);
}

// Keeps a click on a row. Returns false if it was made with Shift and only ends the range that the
// previous click started.
bool clicked(TableState& state, int row) {
  state.range_last = row;
  if (ImGui::GetIO().KeyShift && state.range_first >= 0) return false;
  state.range_first = row;
  return true;
}

int hovered_column(size_t columns) {
  for (size_t c = 0; c < columns; c++)
    if (ImGui::TableGetColumnFlags(static_cast<int>(c)) & ImGuiTableColumnFlags_IsHovered)
      return static_cast<int>(c);
  return 0;
}

}  // namespace

bool table(const char* id, const std::vector<Column>& columns, size_t count, const Cell& cell,
           const std::function<bool(size_t)>& selected, const std::function<void(size_t)>& picked,
           TableState& state, ImVec2 size, const std::function<ImU32(size_t, int)>& colour) {
  const ImGuiTableFlags flags =
      ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY | ImGuiTableFlags_Resizable |
      ImGuiTableFlags_BordersInnerV | ImGuiTableFlags_PadOuterX |
      ImGuiTableFlags_SizingStretchProp |
      (state.sort_column >= 0 ? ImGuiTableFlags_Sortable : ImGuiTableFlags_None);
  const float least = least_width(columns, state);
  const bool scrolls = least > (size.x > 0 ? size.x : ImGui::GetContentRegionAvail().x);
  if (!ImGui::BeginTable(id, static_cast<int>(columns.size()),
                         scrolls ? flags | ImGuiTableFlags_ScrollX : flags, size,
                         scrolls ? least : 0))
    return false;
  poprt::inspector::ui::state().table_scrolls = scrolls;
  draw_header(columns, state);
  const bool sorted = sort_changed(state);
  if (sorted || state.range_first >= static_cast<int>(count)) state.range_first = -1;
  const float line = ImGui::GetTextLineHeight() + ImGui::GetStyle().CellPadding.y * 2;
  if (state.scroll_to >= 0) {
    ImGui::SetScrollY(
        std::max(0.0f, line * static_cast<float>(state.scroll_to) - ImGui::GetWindowHeight() / 2));
    state.scroll_to = -1;
  }
  bool menu = false;
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(count), line);
  while (clipper.Step())
    for (int r = clipper.DisplayStart; r < clipper.DisplayEnd; r++) {
      const auto at = static_cast<size_t>(r);
      const bool chosen = selected(at) || in_range(state, at);
      ImGui::TableNextRow(0, line);
      for (size_t c = 0; c < columns.size(); c++) {
        ImGui::TableSetColumnIndex(static_cast<int>(c));
        const std::string value = cell(at, static_cast<int>(c));
        if (c == 0) {
          ImGui::PushID(r);
          if (ImGui::Selectable("##row", chosen, ImGuiSelectableFlags_SpanAllColumns) &&
              clicked(state, r))
            picked(at);
          if (ImGui::IsItemHovered() && ImGui::IsMouseReleased(1)) {
            state.menu_row = at;
            state.menu_column = hovered_column(columns.size());
            menu = true;
          }
          ImGui::SameLine(0, 0);
          ImGui::PopID();
        }
        const float extent =
            columns[c].right || columns[c].fits ? ImGui::CalcTextSize(value.c_str()).x : 0;
        state.widths[c] =
            std::max(state.widths[c],
                     columns[c].right ? extent : std::min(extent + 1, 8 * ImGui::GetFontSize()));
        if (columns[c].right) {
          const float slack = ImGui::GetContentRegionAvail().x - extent;
          if (slack > 0) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + slack);
        }
        if (colour)
          ImGui::PushStyleColor(ImGuiCol_Text,
                                readable(colour(at, static_cast<int>(c)),
                                         chosen ? mixed(colours().panel, colours().accent, 0.3f)
                                                : mixed(colours().panel, colours().raised, 0.35f)));
        columns[c].right ? text(value) : fitted_text(value);
        if (colour) ImGui::PopStyleColor();
      }
    }
  poprt::inspector::ui::state().table_scrolls = false;
  if (menu) ImGui::OpenPopup("copy");
  draw_menu(columns, count, cell, state);
  copy_selected(columns, count, cell, selected, state);
  ImGui::EndTable();
  return sorted;
}

}  // namespace poprt::inspector::ui
