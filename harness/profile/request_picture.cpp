#include "profile/request_picture.hpp"

#include "base/text.hpp"
#include "profile/profile_report.hpp"
#include "report/page.hpp"
#include "report/svg.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

namespace prenorm::harness::profile {
namespace {

/// Which lanes ask for which bytes, or words.
using Wanted = std::map<std::uint64_t, std::vector<unsigned>>;

/// The lanes of each unit of so many bytes that lanes first to last - 1 ask for.
Wanted wanted_units(const Access& access, std::uint64_t unit, unsigned first, unsigned last) {
  Wanted wanted;
  for (unsigned lane = first; lane < last; ++lane) {
    if (!access.worst[lane]) continue;
    const std::uint64_t begin = *access.worst[lane], end = begin + access.width;
    for (std::uint64_t at = begin / unit; at <= (end - 1) / unit; ++at) {
      wanted[at].push_back(lane);
    }
  }
  return wanted;
}

/// Adds a unit to the row's last piece, if that ends there and is the same lanes'.
void append(std::vector<Piece>& pieces, std::uint64_t at, const std::vector<unsigned>& lanes) {
  const bool continues = !pieces.empty() && pieces.back().begin + pieces.back().length == at &&
                         pieces.back().lanes == lanes;
  if (continues)
    ++pieces.back().length;
  else
    pieces.push_back({at, 1, lanes});
}

std::vector<RequestRow> lines(const Access& access) {
  std::vector<RequestRow> rows;
  for (const auto& [byte, lanes] : wanted_units(access, 1, 0, 32)) {
    const std::uint64_t address = byte / line_bytes * line_bytes;
    if (rows.empty() || rows.back().address != address) {
      rows.emplace_back();
      rows.back().address = address;
    }
    rows.back().sectors[byte % line_bytes / sector_bytes] = true;
    append(rows.back().pieces, byte % line_bytes, lanes);
  }
  return rows;
}

/// As cuda/emulator/request.hpp counts them: wavefront k gives the k-th word of each bank.
std::vector<RequestRow> wavefronts(const Access& access) {
  const unsigned at_once = access.width <= 4 ? 32 : access.width <= 8 ? 16 : 8;
  std::vector<RequestRow> rows;
  for (unsigned first = 0; first < 32; first += at_once) {
    // Of each bank the words that are asked for.
    std::array<std::vector<std::vector<unsigned>>, banks> words;
    for (auto& [word, lanes] : wanted_units(access, bank_bytes, first, first + at_once)) {
      words[word % banks].push_back(lanes);
    }
    std::size_t most = 0;
    for (const auto& of_bank : words) most = std::max(most, of_bank.size());
    for (std::size_t k = 0; k < most; ++k) {
      RequestRow& row = rows.emplace_back();
      row.waits = k > 0;
      for (std::uint64_t bank = 0; bank < banks; ++bank) {
        if (k < words[bank].size()) append(row.pieces, bank, words[bank][k]);
      }
    }
  }
  return rows;
}

constexpr double width = 360, left = 52, cell = 9.375;  // a lane's, a bank's
constexpr double row_height = 10, row_step = 12.5;
constexpr double across = 32 * cell;
constexpr std::size_t most_rows = 32;     // that are drawn
constexpr std::size_t line_columns = 47;  // of text
constexpr std::size_t quarters = 4;       // of a warp: each has a colour

std::string box(double x, double y, double wide, double tall) {
  return fmt::format("M{:g} {:g}h{:g}v{:g}h{:g}z", x, y, wide, tall, -wide);
}

/// The text in lines that fit the picture.
std::vector<std::string> wrapped(const std::string& text) {
  std::vector<std::string> lines{""};
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::string& line = lines.back();
    if (line.empty())
      line = word;
    else if (line.size() + 1 + word.size() <= line_columns)
      line += " " + word;
    else
      lines.push_back(word);
  }
  return lines;
}

/// A picture from the top on.
class Picture {
 public:
  explicit Picture(const Access& access)
      : access_(access), rows_(request_rows(access)), is_global_(access.space == Space::global) {}

  void text(const std::string& text, std::string_view css) {
    for (const std::string& line : wrapped(text)) {
      svg_.label(10, y_ += 15, line, {{"class", css}});
    }
    y_ += 4;
  }

  void style(std::string_view css) { svg_.style(css); }

  void lanes() {
    y_ += 5;
    label("lane", y_ + 9);
    std::array<std::string, quarters> present;
    std::string absent;
    for (unsigned lane = 0; lane < 32; ++lane) {
      std::string& path = access_.worst[lane] ? present[lane / 8] : absent;
      path += box(left + cell * lane, y_, cell, 12);
    }
    chips(present);
    if (!absent.empty()) svg_.add("path", {{"class", "off"}, {"d", absent}});
    for (unsigned lane = 0; lane < 32; ++lane) {
      number(left + cell * (lane + .5), y_ + 8.4, std::to_string(lane),
             access_.worst[lane] ? lane / 8 : quarters);
    }
    y_ += 28;
  }

  void memory() {
    ruler();
    const std::size_t drawn = std::min(rows_.size(), most_rows);
    draw_boxes(drawn);
    draw_names(drawn);
    y_ += row_step * static_cast<double>(drawn);
    if (rows_.size() > drawn) {
      const std::string what = is_global_ ? "line" : "wavefront";
      text("and " + counted(rows_.size() - drawn, "more " + what), "small");
    }
  }

  /// What the colour of waste means, where there is any, and how much there is.
  void legend() {
    y_ += 5;
    if (is_wasteful()) {
      svg_.add("path", {{"class", "waste"}, {"d", box(left, y_, 18, row_height)}});
      svg_.label(left + 24, y_ + 8.5,
                 is_global_ ? "moves, though no lane asked for it" : "waits: its bank was busy",
                 {{"class", "small"}});
      y_ += 15;
    }
    svg_.label(left, y_ + 8, cost_text(), {{"class", "small"}});
    y_ += 16;
  }

  std::string finished(const std::string& title, std::string_view css) const {
    Svg whole;
    whole.add("title", {}, title);
    whole.add("desc", {}, pattern_of(access_) + ". " + cost_text() + ".");
    whole.add(svg_);
    return whole.picture(
        width, y_, {{"xmlns", "http://www.w3.org/2000/svg"}, {"class", css}, {"role", "img"}});
  }

 private:
  /// The width of a byte, or of a bank.
  double unit() const { return is_global_ ? across / line_bytes : cell; }

  double top_of(std::size_t row) const { return y_ + row_step * static_cast<double>(row); }

  /// The rows, a path for each colour.
  void draw_boxes(std::size_t drawn) {
    std::string ground, waste;
    std::array<std::string, quarters> taken;
    for (std::size_t i = 0; i < drawn; ++i) {
      const RequestRow& row = rows_[i];
      for (std::size_t part = 0; part < row.sectors.size(); ++part) {
        const double x = left + across / 4 * static_cast<double>(part);
        (row.waits || row.sectors[part] ? waste : ground) +=
            box(x, top_of(i), across / 4, row_height);
      }
      for (const Piece& piece : row.pieces) {
        taken[piece.lanes.front() / 8] +=
            box(left + unit() * static_cast<double>(piece.begin), top_of(i),
                unit() * static_cast<double>(piece.length), row_height);
      }
    }
    if (!ground.empty()) svg_.add("path", {{"class", "ground"}, {"d", ground}});
    if (!waste.empty()) svg_.add("path", {{"class", "waste"}, {"d", waste}});
    chips(taken);
  }

  void draw_names(std::size_t drawn) {
    for (std::size_t i = 0; i < drawn; ++i) {
      label(is_global_ ? fmt::format("+{}", rows_[i].address) : std::to_string(i + 1),
            top_of(i) + 8.2);
      for (const Piece& piece : rows_[i].pieces) name(piece, top_of(i) + 7.5);
    }
  }

  void label(const std::string& text, double y) {
    svg_.label(left - 5, y, text, {{"class", "small"}, {"text-anchor", "end"}});
  }

  void number(double x, double y, const std::string& text, std::size_t quarter) {
    const bool narrow = text.size() > 2;
    svg_.label(x, y, text,
               {{"class", fmt::format("on{}{}", quarter, narrow ? " tiny" : "")},
                {"text-anchor", "middle"}});
  }

  void chips(const std::array<std::string, quarters>& paths) {
    for (std::size_t q = 0; q < quarters; ++q) {
      if (paths[q].empty()) continue;
      svg_.add("path", {{"class", fmt::format("q{}", q)}, {"d", paths[q]}});
    }
  }

  /// The lane of a piece, or how many they are, where there is room.
  void name(const Piece& piece, double y) {
    const double wide = unit() * static_cast<double>(piece.length);
    if (wide < cell) return;
    const std::string text = piece.lanes.size() == 1 ? std::to_string(piece.lanes.front())
                                                     : "x" + std::to_string(piece.lanes.size());
    number(left + unit() * static_cast<double>(piece.begin) + wide / 2, y, text,
           piece.lanes.front() / 8);
  }

  void ruler() {
    label(is_global_ ? "byte" : "bank", y_ - 4);
    for (const unsigned at : {0u, 8u, 16u, 24u}) {
      svg_.label(left + cell * at + (is_global_ ? 0 : 2), y_ - 4,
                 std::to_string(is_global_ ? at * 4 : at), {{"class", "small"}});
    }
  }

  /// Whether something has the colour of waste.
  bool is_wasteful() const {
    return is_global_ ? distinct_bytes(access_) < sector_bytes * access_.worst_cost
                      : std::ranges::any_of(rows_, &RequestRow::waits);
  }

  std::string cost_text() const {
    if (is_global_) {
      const std::uint64_t moved = sector_bytes * access_.worst_cost;
      const std::uint64_t wanted = distinct_bytes(access_);
      return counted(access_.worst_cost, "sector") + fmt::format(" = {} bytes", moved) +
             (wanted == moved ? ", all of them asked for" : fmt::format(", {} asked for", wanted));
    }
    const std::string wavefronts = counted(access_.worst_cost, "wavefront");
    if (!is_wasteful()) return wavefronts + ": no conflicts";
    return fmt::format("{}, one after the other; without conflicts {}", wavefronts,
                       access_.worst_least);
  }

  const Access& access_;
  const std::vector<RequestRow> rows_;
  const bool is_global_;
  Svg svg_;
  double y_ = 0;
};

}  // namespace

std::vector<RequestRow> request_rows(const Access& access) {
  return access.space == Space::global ? lines(access) : wavefronts(access);
}

std::uint64_t distinct_bytes(const Access& access) { return wanted_units(access, 1, 0, 32).size(); }

std::string request_picture(const Access& access, const std::string& title) {
  Picture picture(access);
  picture.lanes();
  picture.memory();
  picture.legend();
  return picture.finished(title, "request");
}

std::string request_file(const Access& access, const std::string& title) {
  Picture picture(access);
  picture.style(page_file("request.css"));
  picture.text(title, "head");
  picture.text(pattern_of(access), "words");
  picture.lanes();
  picture.memory();
  picture.legend();
  return picture.finished(title, "request alone");
}

}  // namespace prenorm::harness::profile
