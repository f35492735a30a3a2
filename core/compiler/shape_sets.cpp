#include "compiler/shape_sets.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/error.h"

namespace poprt::compiler {
namespace {

// Each shape has a program in the file and takes as long to compile as the model.
constexpr size_t kMostShapes = 64;

using Point = std::vector<int64_t>;  // one size for each variable size

// Returns the smallest size s below `size` for which a request of size s + 1 is padded to `size`
// with at most the given fraction of padding, rounded up to a multiple of 16, 8, 4 or 2 if that is
// still below `size`. For example, 100 with 0.2 needs s + 1 >= 80, and 79 is rounded up to 80.
int64_t step_below(int64_t size, double max_padding) {
  constexpr double kRounding = 1e-9;
  const double room = max_padding * static_cast<double>(size);
  const auto least = std::max<int64_t>(
      0, static_cast<int64_t>(std::ceil(static_cast<double>(size) - 1 - room - kRounding)));
  for (const int64_t multiple : {16, 8, 4, 2})
    if (const int64_t step = (least + multiple - 1) / multiple * multiple; step < size) return step;
  return least;
}

// The variable sizes and their positions.
class Sizes {
 public:
  explicit Sizes(const std::vector<ShapeSet>& sets) : first_(sets.at(0)) {
    for (const auto& [input, shape] : first_)
      for (size_t d = 0; d < shape.size(); d++) add(sets, input, d);
  }

  size_t count() const { return columns_.size(); }
  Point point(size_t set) const {
    Point p;
    for (const Point& column : columns_) p.push_back(column[set]);
    return p;
  }
  ShapeSet at(const Point& point) const {
    ShapeSet set = first_;
    for (const auto& [input, d, column] : places_) set[input][d] = point[column];
    return set;
  }

 private:
  struct Place {
    std::string input;
    size_t dimension, column;
  };

  void add(const std::vector<ShapeSet>& sets, const std::string& input, size_t d) {
    Point column;
    for (const ShapeSet& set : sets) {
      const Shape& shape = set.at(input);
      if (shape.size() != first_.at(input).size())
        fail(ErrorCode::invalid_argument, "`input_shape`: shapes of '{}' have {} and {} dimensions",
             input, first_.at(input).size(), shape.size());
      column.push_back(shape[d]);
    }
    if (std::ranges::all_of(column, [&](int64_t s) { return s == column[0]; })) return;
    const auto same = std::ranges::find(columns_, column);
    places_.push_back({input, d, static_cast<size_t>(same - columns_.begin())});
    if (same == columns_.end()) columns_.push_back(std::move(column));
  }

  const ShapeSet first_;
  std::vector<Point> columns_;  // one size per set
  std::vector<Place> places_;
};

// Returns pairs of a point and the next larger point that differs only in size `column`. Points are
// sorted by the other sizes, so that such points are adjacent.
std::vector<std::pair<Point, Point>> neighbours(const std::set<Point>& points, size_t column) {
  std::vector<std::pair<Point, int64_t>> lines;  // the other sizes, and this size
  for (const Point& p : points) {
    lines.emplace_back(p, p[column]);
    lines.back().first.erase(lines.back().first.begin() + static_cast<std::ptrdiff_t>(column));
  }
  std::ranges::sort(lines);
  std::vector<std::pair<Point, Point>> pairs;
  const auto whole = [&](const std::pair<Point, int64_t>& line) {
    Point p = line.first;
    p.insert(p.begin() + static_cast<std::ptrdiff_t>(column), line.second);
    return p;
  };
  for (size_t i = 1; i < lines.size(); i++)
    if (lines[i - 1].first == lines[i].first)
      pairs.emplace_back(whole(lines[i - 1]), whole(lines[i]));
  return pairs;
}

}  // namespace

std::vector<ShapeSet> shape_sets_of(const std::map<std::string, std::vector<Shape>>& given) {
  size_t count = 1;
  std::string longest;
  for (const auto& [name, list] : given)
    if (list.size() > count) count = list.size(), longest = name;
  if (count > kMostShapes)
    fail(ErrorCode::invalid_argument, "`input_shapes`: '{}' has {} shapes, at most {} are compiled",
         longest, count, kMostShapes);
  for (const auto& [name, list] : given)
    if (list.size() != 1 && list.size() != count)
      fail(ErrorCode::invalid_argument,
           "`input_shapes`: '{}' has {} shapes and '{}' {}: an input has one, or one in each of "
           "them",
           name, list.size(), longest, count);
  std::vector<ShapeSet> sets(count);
  for (size_t i = 0; i < count; i++)
    for (const auto& [name, list] : given) sets[i][name] = list[list.size() == 1 ? 0 : i];
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < i; j++)
      if (sets[i] == sets[j])
        fail(ErrorCode::invalid_argument,
             "`input_shapes`: '{}' is given twice: shapes {} and {} are the same", longest, j + 1,
             i + 1);
  sort_by_size(sets);
  return sets;
}

void sort_by_size(std::vector<ShapeSet>& sets) {
  std::multimap<double, ShapeSet> sorted;  // equal sizes keep their order
  for (ShapeSet& set : sets) {
    double elements = 0;
    for (const auto& [name, shape] : set) elements += static_cast<double>(element_count(shape));
    sorted.emplace(elements, std::move(set));
  }
  sets.clear();
  for (auto& [elements, set] : sorted) sets.push_back(std::move(set));
}

std::vector<ShapeSet> with_steps(const std::vector<ShapeSet>& sets, double max_padding) {
  const Sizes sizes(sets);
  std::set<Point> points;
  for (size_t i = 0; i < sets.size(); i++) points.insert(sizes.point(i));
  bool any = false, grown = true;
  // Points added along one size may have neighbours along other sizes.
  while (std::exchange(grown, false))
    for (size_t column = 0; column < sizes.count(); column++)
      for (const auto& [small, large] : neighbours(points, column)) {
        any = true;
        Point p = large;
        while ((p[column] = step_below(p[column], max_padding)) > small[column]) {
          grown |= points.insert(p).second;
          if (points.size() > kMostShapes)
            fail(ErrorCode::invalid_argument,
                 "`max_padding` {} makes more than {} shapes of the {} of `input_shape`: give a "
                 "larger fraction",
                 max_padding, kMostShapes, sets.size());
        }
      }
  if (!any)
    fail(
        ErrorCode::invalid_argument,
        "`max_padding`: no two of the {} shapes of `input_shape` differ in one size alone, between "
        "which others could be added",
        sets.size());
  std::vector<ShapeSet> all;
  for (const Point& p : points) all.push_back(sizes.at(p));
  sort_by_size(all);
  return all;
}

}  // namespace poprt::compiler
