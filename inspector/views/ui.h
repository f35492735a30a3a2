// Shared by all views: colours, fonts, keys, small widgets, and a list of the drawn items.
//
// Every widget made here has a named mark, so that tests find it without its position.
#pragma once

#include <imgui.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/pass_history.h"

namespace poprt::inspector::ui {

enum class Theme { dark, light };

struct Colours {
  ImU32 back, panel, raised, border, text, dim, accent, good, warn, bad, match, path, grid;
  ImU32 gone;  // for items that a change removes
};
const Colours& colours();
Theme theme();
void set_theme(Theme theme, float scale);
float scale();  // of the display; views multiply their sizes by it

ImU32 with_alpha(ImU32 colour, float alpha);
ImU32 mixed(ImU32 a, ImU32 b, float part_of_b);
ImU32 colour_of(std::string_view name);  // the same name has the same colour in every view
ImU32 colour_of(Change change);
ImU32 colour_at(size_t index);  // for the lines of one plot; neighbours differ
// Returns a colour for 0..1, from dark blue to bright yellow. These colours differ in lightness for
// every vision, and none is red, the colour of errors.
ImU32 heat(float part);
// WCAG's contrast ratio, 1 to 21.
float contrast(ImU32 a, ImU32 b);
// The contrast from which on text is readable.
inline constexpr float kReadable = 4.5f;
// Returns the colour, moved towards black or white until it is readable as text on `back`.
ImU32 readable(ImU32 colour, ImU32 back);

// Loads DejaVu, or ImGui's font if it is not installed. Characters that were missing so far are
// loaded from other usual fonts. Call it before the first frame or between two frames.
void load_fonts(float scale);
// Returns true once after text had characters without a font. The caller then loads the fonts again
// between two frames.
bool take_fonts_wanted();
// Returns the font whose size is nearest to `pixels`, for scaled text.
ImFont* font_for(float pixels);
ImFont* fixed_font();

// Keys by GLFW's numbers. Letters and digits are their ASCII codes.
enum Key : int {
  kEscape = 256,
  kEnter = 257,
  kTab = 258,
  kBackspace = 259,
  kDelete = 261,
  kRight = 262,
  kLeft = 263,
  kDown = 264,
  kUp = 265,
  kPageUp = 266,
  kPageDown = 267,
  kHome = 268,
  kEnd = 269,
  kF1 = 290,
  kF5 = 294,
  kF11 = 300,
  kLeftShift = 340,
  kLeftControl = 341,
  kLeftAlt = 342,
  kLeftSuper = 343,
  kRightShift = 344,
  kRightControl = 345,
  kRightAlt = 346,
  kRightSuper = 347
};
void map_keys();  // registers the keys that ImGui handles itself
// Whether the key was pressed in this frame with exactly these modifiers. Keys of characters are
// ignored without Ctrl while the user types text. Arrows, page keys, = and - repeat while they are
// held.
bool pressed(int key, bool control = false, bool shift = false);

struct Mark {
  std::string name;
  ImVec2 least, most;
  // For a text: the draw list, the rectangle outside of which nothing is visible, and the colour.
  // `list` is null if the mark is not a text.
  const ImDrawList* list = nullptr;
  ImVec2 clip_least = {}, clip_most = {};
  ImU32 colour = 0;
  bool scrolls = false;  // in a table that can be scrolled horizontally
};
// Widgets and texts of the current frame in the order of drawing.
std::vector<Mark>& marks();
void mark(std::string_view name);  // marks the last item
void mark(std::string_view name, ImVec2 least, ImVec2 most);
const Mark* find_mark(std::string_view name);

bool button(const char* label, const char* tooltip = nullptr, bool active = false);
// Continues the line if a button with this label fits into it.
void same_line_if_fits(const char* label);
// A line that a click selects. Unlike ImGui's own widget, it shows text after "##". Each must be in
// its own ImGui::PushID().
bool pick(std::string_view line, bool chosen = false);
void text(std::string_view line);
// Draws a text directly and marks it as "label " and the text. All views draw their texts with it
// or with text(), so that a test can check that each is visible and readable. `font` and `size` are
// those of the window by default.
void label(ImDrawList* list, ImVec2 at, ImU32 colour, std::string_view line, ImFont* font = nullptr,
           float size = 0);
// A text that is too long loses its start if it is a path, because the end of a path distinguishes
// nodes, else its end. The tooltip of fitted_text() and fitted_dim_text() has the whole text.
enum class Cut { by_kind, end };
std::string fitted(std::string_view line, float room, Cut cut = Cut::by_kind,
                   const ImFont* font = nullptr, float size = 0);
void fitted_text(std::string_view line);
void dim_text(std::string_view line);
void fitted_dim_text(std::string_view line);
void coloured_text(ImU32 colour, std::string_view line);
void heading(std::string_view line);
// A line "name   value". A click on the value copies it. The value starts at `column`, if given.
void row(std::string_view name, std::string_view value, float column = 0);
// A region that receives the pointer, for items that are drawn directly; at least one pixel.
void hit_area(const char* name, ImVec2 size);
// Shows a tooltip while the pointer is on the last item: below it, or above it at the end of the
// screen, so that it does not cover the item. For a high item, such as a plot, it is at the
// pointer.
void tooltip(std::string_view line);
// The same for an item that is drawn directly, with the pointer on it.
void tooltip_at(std::string_view line, ImVec2 least, ImVec2 most);
// Copies a text to the clipboard. The caller reports it in the status line.
void copy(std::string_view text);
// Returns the text copied since the last call; empty: none.
std::string take_copied();
// The width of a panel, which the user may change by its splitter. It is `standard` at first (at a
// scale of 1) and always between `least` and `most` pixels.
float panel(const char* name, float standard, float least, float most);
// Draws a splitter next to the previous item. It resizes that panel: the left part, or with `right`
// the right part.
void splitter(const char* name, float height, bool right = false);
// Widths set by the user, at a scale of 1.
std::map<std::string, float>& panels();
// A text field with a grey hint. Returns whether the text changed.
bool field(const char* id, const char* hint, std::string& value, float width,
           ImGuiInputTextFlags flags = 0);

// A drop-down list of names. Returns whether another name was chosen.
bool choice(const char* id, const std::vector<std::string>& names, int& chosen, float width);

struct Column {
  const char* name;
  float width;         // relative; without effect if `right` or `fits` is set
  bool right = false;  // for numbers: as wide as the widest number
  bool fits = false;   // for short words: as wide as the widest word, at most 14 letters
};
struct TableState {
  int sort_column = -1;  // -1: the table cannot be sorted
  bool descending = false;
  int scroll_to = -1;
  // The rows between a click and a click with Shift, which Ctrl+C copies; -1: there was no click.
  int range_first = -1, range_last = -1;
  size_t menu_row = 0;  // the row of the open menu
  int menu_column = 0;
  std::vector<float> widths;  // of columns of numbers and of short words: the largest width drawn
};
// Draws the visible rows of [0, count). `cell(row, column)` returns the text, `selected(row)` and
// `picked(row)` the selection. Returns true if the sort order changed. The right button offers to
// copy a cell, a row or all rows. Ctrl+C copies the selected rows, or all rows if none is selected;
// a click with Shift extends the selection. A table whose columns of text would become unreadable
// is scrolled horizontally.
bool table(const char* id, const std::vector<Column>& columns, size_t count,
           const std::function<std::string(size_t, int)>& cell,
           const std::function<bool(size_t)>& selected, const std::function<void(size_t)>& picked,
           TableState& state, ImVec2 size, const std::function<ImU32(size_t, int)>& colour = {});

}  // namespace poprt::inspector::ui
