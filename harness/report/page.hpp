// Pages that need nothing beside themselves, from templates; text from outside made safe for HTML
// and for Markdown.
#pragma once

#include "base/json.hpp"
#include "report/table.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace prenorm::harness {

/// Text for a page: safe on one line, and with the characters that HTML reserves escaped; cut after
/// `limit` bytes, with "..." at the end.
std::string escaped(std::string_view text, std::size_t limit = 4000);

/// "good", "bad", "quiet" or "": rules for them are in page.css.
std::string_view css_class(Tone tone);

/// The page of a mustache template, "NAME.mustache". The files of all folders harness/*/templates
/// are compiled in; each is a partial by its file's name.
///
/// {{x}} is escaped() as it is written; only what is already HTML belongs in {{{x}}}. Null, false,
/// an empty text and an empty array are false in sections. A section also sees what is around it,
/// so every object of an array has the same keys.
std::string render_page(std::string_view name, const Json& values);

/// The text of a file in one of these folders.
std::string_view page_file(std::string_view name);

/// What a page's Content-Security-Policy says for the script of that file, which the page has in
/// one element: no other script runs. Pages give it as "script_policy".
std::string script_policy(std::string_view file);

/// A row of a table: an object with "text" and "tone" for each cell.
Json cell_values(const std::vector<Cell>& row);

/// {"each": items}, or null where there are none: for what surrounds a list that is not empty.
Json listed(Json items);

/// Text that stays text: each character that Markdown or HTML may give a meaning has a backslash
/// before it. One line, cut after 500 bytes.
std::string markdown_text(std::string_view text);

/// The text in code's letters, within a line; nothing in it has a meaning, whatever it holds: no
/// link, no mention, no HTML. One line, cut after 500 bytes. Pipes are escaped where `in_table`.
std::string markdown_code(std::string_view text, bool in_table = false);

/// Lines as a block of code, whatever they hold but control characters.
std::string markdown_block(std::span<const std::string> lines);

}  // namespace prenorm::harness
