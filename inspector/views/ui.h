// What all views share: colours, fonts, keys, small widgets, and a log of what was drawn.
//
// Every widget made here is marked by its name, so that tests find it without knowing where it is.
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
};
const Colours& colours();
Theme theme();
void set_theme(Theme theme, float scale);
float scale();  // of the display; sizes in views are multiplied by it

ImU32 with_alpha(ImU32 colour, float alpha);
ImU32 mixed(ImU32 a, ImU32 b, float part_of_b);
ImU32 colour_of(std::string_view name);  // the same name has the same colour in every view
ImU32 colour_of(Change change);
ImU32 colour_at(size_t index);  // of lines in one plot, neighbours differ
// Cold to hot for 0..1.
ImU32 heat(float part);

// Debian's DejaVu where it is, else ImGui's own font; for what the fonts of before lacked whatever
// other font has it. Call before the first frame.
void load_fonts(float scale);
// True once when text had characters that no font was loaded for: then load the fonts again,
// between two frames.
bool take_fonts_wanted();
// The font whose size is nearest to `pixels`, for text that is scaled.
ImFont* font_for(float pixels);
ImFont* fixed_font();

// Keys by GLFW's numbers: letters and digits are their ASCII codes.
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
void map_keys();  // tells ImGui of the keys that it knows itself
// Pressed in this frame, with exactly these modifiers; letters not while text is typed. Arrows, +
// and
// - come again and again while they are held.
bool pressed(int key, bool control = false, bool shift = false);

struct Mark {
  std::string name;
  ImVec2 least, most;
};
// Widgets and texts of the present frame, in the order of drawing.
std::vector<Mark>& marks();
void mark(std::string_view name);  // the last item
void mark(std::string_view name, ImVec2 least, ImVec2 most);
const Mark* find_mark(std::string_view name);

bool button(const char* label, const char* tooltip = nullptr, bool active = false);
// A line that a click picks, whatever it holds: of ImGui's own, "##" would hide the rest. One in
// each ImGui::PushID().
bool pick(std::string_view line, bool chosen = false);
void text(std::string_view line);
// What is too long for the room left loses its beginning where it is a path, whose end tells nodes
// apart, else its end; the tooltip has all of it.
enum class Cut { by_kind, end };
std::string fitted(std::string_view line, float room, Cut cut = Cut::by_kind);
void fitted_text(std::string_view line);
void dim_text(std::string_view line);
void fitted_dim_text(std::string_view line);
void coloured_text(ImU32 colour, std::string_view line);
void heading(std::string_view line);
// A line "name   value" that is copied by a click; the value begins at `column`, if that is given.
void row(std::string_view name, std::string_view value, float column = 0);
// A region that takes the pointer, for what is drawn by hand; of at least one pixel.
void hit_area(const char* name, ImVec2 size);
// Beneath the last item while the pointer is on it, so that it covers nothing beside it.
void tooltip(std::string_view line);
// To the clipboard; whoever draws the status says so.
void copy(std::string_view text);
// What was copied since the last call; empty: nothing.
std::string take_copied();
// The width of a part of a view, which the user may change by its splitter: `standard` at first (at
// a scale of 1), always from `least` to `most` pixels.
float panel(const char* name, float standard, float least, float most);
// Beside the item before: drags the border of that panel, which is the left or the right part.
void splitter(const char* name, float height, bool right = false);
// Widths as the user left them, at a scale of 1.
std::map<std::string, float>& panels();
// A text field with a grey hint; true when it changed.
bool field(const char* id, const char* hint, std::string& value, float width,
           ImGuiInputTextFlags flags = 0);

// One of several names, from a list that opens; true when another one was chosen.
bool choice(const char* id, const std::vector<std::string>& names, int& chosen, float width);

// Columns: names and relative widths. Sorting is told by `sorted(column, descending)` when it is
// set.
struct Column {
  const char* name;
  float width;
  bool right = false;  // numbers
};
struct TableState {
  int sort_column = -1;
  bool descending = false;
  int scroll_to = -1;
  // Rows between a click and a click with Shift, which Ctrl+C copies; -1: there was no click.
  int range_first = -1, range_last = -1;
  size_t menu_row = 0;  // of the menu that is open
  int menu_column = 0;
  std::vector<float> widths;  // of columns of numbers, as wide as what was drawn in them
};
// Draws rows [0, count), only those in sight. `cell(row, column)` gives the text, `selected(row)`
// and `picked(row)` the selection; returns true when the sort order changed. The right button
// offers to copy a cell, a row or all rows; Ctrl+C copies the selected rows, which a click with
// Shift makes more of.
bool table(const char* id, const std::vector<Column>& columns, size_t count,
           const std::function<std::string(size_t, int)>& cell,
           const std::function<bool(size_t)>& selected, const std::function<void(size_t)>& picked,
           TableState& state, ImVec2 size, const std::function<ImU32(size_t, int)>& colour = {});

}  // namespace poprt::inspector::ui
