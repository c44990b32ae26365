#include "report/csv.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <csv.h>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>

namespace prenorm::harness {
namespace {

/// Whether a spreadsheet might calculate it: = + - @, also in full width, tab or line end, after
/// blanks and quotes too.
bool is_formula(std::string_view text) {
  while (!text.empty()) {
    const Character first = first_character(text);
    constexpr std::array<std::uint32_t, 12> starts{'=',  '+',    '-',    '@',    '\t',   '\r',
                                                   '\n', 0xff1d, 0xff0b, 0xff0d, 0xff20, 0x2212};
    for (const std::uint32_t start : starts) {
      if (first.code == start && first.bytes > 0) return true;
    }
    const bool passed_over = first.code == ' ' || first.code == '"' || first.code == '\'' ||
                             first.code == 0xa0 || first.code == 0x3000;
    if (!passed_over) return false;
    text.remove_prefix(first.bytes);
  }
  return false;
}

/// With a ' before what might be calculated: at the text's begin, and where a spreadsheet that
/// takes another sign than the comma for the end of a cell would begin one.
std::string without_formulas(std::string_view text) {
  std::string made;
  bool begins = true;
  for (; !text.empty(); text.remove_prefix(1)) {
    if (begins && is_formula(text)) made += '\'';
    made += text.front();
    begins = text.front() == ';' || text.front() == '\t';
  }
  return made;
}

/// Up to the end of a line, with it.
std::string_view first_line(std::string_view text) {
  const std::size_t end = text.find_first_of("\r\n");
  if (end == std::string_view::npos) return text;
  const bool two = text[end] == '\r' && end + 1 < text.size() && text[end + 1] == '\n';
  return text.substr(0, end + (two ? 2 : 1));
}

void require_utf8(std::string_view line, std::size_t number) {
  while (!line.empty()) {
    const Character next = first_character(line);
    if (next.bytes == 0 || next.code == 0)
      refuse_line(number, "is not UTF-8 text; save the table as CSV in UTF-8");
    line.remove_prefix(next.bytes);
  }
}

/// libcsv's parser, and the rows that it finds.
struct Parser {
  csv_parser parser{};
  std::vector<CsvRow> rows;
  CsvRow row;

  Parser(char separator, bool keep_blanks) {
    if (::csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) throw std::bad_alloc();
    ::csv_set_delim(&parser, static_cast<unsigned char>(separator));
    if (keep_blanks) ::csv_set_space_func(&parser, [](unsigned char) { return 0; });
  }
  ~Parser() { ::csv_free(&parser); }
  Parser(Parser&&) = delete;  // nor copied

  static void take_cell(void* cell, std::size_t size, void* self) {
    static_cast<Parser*>(self)->row.cells.emplace_back(static_cast<const char*>(cell), size);
  }
  static void take_row(int, void* self) {
    Parser& that = *static_cast<Parser*>(self);
    that.rows.push_back(std::move(that.row));
    that.row = {};
  }
  bool read(std::string_view text) {
    return ::csv_parse(&parser, text.data(), text.size(), take_cell, take_row, this) == text.size();
  }
  bool finish() { return ::csv_fini(&parser, take_cell, take_row, this) == 0; }
};

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

/// The commonest in the head; what is in quotes separates nothing.
char separator_of(std::string_view text) {
  std::array<std::pair<std::size_t, char>, 3> counts{{{0, ','}, {0, ';'}, {0, '\t'}}};
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '\r' || c == '\n') break;
    for (auto& [count, separator] : counts) count += c == separator ? 1 : 0;
  }
  return std::ranges::max_element(counts, {}, [](const auto& each) { return each.first; })->second;
}

/// How a text begins. Takes what stands before the head off the text.
CsvTable begin_of(std::string_view& text) {
  CsvTable table;
  const std::string_view whole = text;
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const std::string_view line = first_line(text);
  const std::string word = lowered(trimmed(line, "\r\n"));
  if (word.size() == 5 && word.starts_with("sep=")) {
    table.separator = word.back();
    text.remove_prefix(line.size());
  } else {
    table.separator = separator_of(text);
  }
  table.lead = whole.substr(0, whole.size() - text.size());
  return table;
}

std::string in_quotes(std::string_view value) {
  std::string written(2 * value.size() + 2, '\0');
  written.resize(::csv_write(written.data(), written.size(), value.data(), value.size()));
  return written;
}

/// Of a text without what stands before the head.
std::vector<CsvRow> rows_of(std::string_view text, const CsvTable& begin, bool keep_blanks) {
  Parser parser(begin.separator, keep_blanks);
  bool goes_on = false;  // a row, from the line before
  std::size_t row_begins = 0;
  for (std::size_t number = begin.lead.ends_with('\n') ? 2 : 1; !text.empty(); ++number) {
    const std::string_view line = first_line(text);
    text.remove_prefix(line.size());
    require_utf8(line, number);
    if (!goes_on) row_begins = number;
    const std::size_t before = parser.rows.size();
    if (!parser.read(line))
      refuse_line(number, "a quote stands where none may, or lacks its second");
    goes_on = parser.rows.size() == before &&
              (goes_on || line.find_first_not_of(" \t\r\n") != std::string_view::npos);
    if (parser.rows.size() > before) parser.rows.back().line = row_begins;
  }
  const std::size_t before = parser.rows.size();
  if (!parser.finish()) refuse_line(row_begins, "a quote that begins here has no end");
  if (parser.rows.size() > before) parser.rows.back().line = row_begins;
  return std::move(parser.rows);
}

}  // namespace

void refuse_line(std::size_t line, const std::string& what) {
  throw std::invalid_argument(fmt::format("line {}: {}", line, what));
}

CsvRows& CsvRows::cell(std::string_view written) {
  if (begun_) rows_ += ',';
  begun_ = true;
  rows_ += written;
  return *this;
}

CsvRows& CsvRows::text(std::string_view value) { return cell(in_quotes(without_formulas(value))); }

CsvRows& CsvRows::number(double value) { return cell(csv_number(value)); }

void CsvRows::end() {
  rows_ += "\r\n";
  begun_ = false;
}

std::string csv_number(double value) {
  std::string written = fmt::format("{:.4f}", value);
  while (written.ends_with('0')) written.pop_back();
  if (written.ends_with('.')) written.pop_back();
  return written;
}

std::vector<CsvRow> csv_rows(std::string_view text) {
  const CsvTable begin = begin_of(text);
  return rows_of(text, begin, false);
}

CsvTable csv_table(std::string_view text) {
  CsvTable table = begin_of(text);
  const std::string_view head = first_line(text);
  if (const std::size_t end = head.find_first_of("\r\n"); end != head.npos) {
    table.line_end = head.substr(end);
  }
  table.rows = rows_of(text, table, true);
  return table;
}

std::string csv_text(const CsvTable& table) {
  const std::string special = std::string("\"\r\n") + table.separator;
  std::string text = table.lead;
  for (const CsvRow& row : table.rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const std::string& value = row.cells[i];
      if (i > 0) text += table.separator;
      const bool quoted = value.find_first_of(special) != value.npos || value.starts_with(' ') ||
                          value.ends_with(' ');
      text += quoted ? in_quotes(value) : value;
    }
    text += table.line_end;
  }
  return text;
}

}  // namespace prenorm::harness
