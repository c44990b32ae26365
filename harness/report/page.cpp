#include "report/page.hpp"

#include "base/printable.hpp"

namespace prenorm::harness {
namespace {

constexpr std::string_view common_style = R"(
:root { color-scheme: light dark; --good: #1a7f37; --bad: #b42318; --line: #8885; --plate: #8881; }
@media (prefers-color-scheme: dark) { :root { --good: #4cc26a; --bad: #ff8a7a; } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem;
  overflow-wrap: anywhere; }
table { border-collapse: collapse; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .9rem .3rem 0; text-align: left; }
code { background: var(--plate); padding: .1rem .3rem; border-radius: .2rem; }
.good { color: var(--good); } .bad { color: var(--bad); font-weight: 600; } .quiet { opacity: .7; }
.scroll { overflow-x: auto; }
)";

}  // namespace

std::string escaped(std::string_view text, std::size_t limit) {
  std::string safe;
  for (const char c : printable(text, limit)) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      case '\'': safe += "&#39;"; break;
      default: safe += c;
    }
  }
  return safe;
}

std::string html_page(std::string_view title, std::string_view style, std::string_view body) {
  // What is escaped cannot load or run anything; the policy says so to the browser as well.
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>";
  page += escaped(title, 200);
  page.append("</title>\n<style>").append(common_style).append(style).append("</style>\n");
  page.append("</head>\n<body>\n").append(body).append("</body>\n</html>\n");
  return page;
}

}  // namespace prenorm::harness
