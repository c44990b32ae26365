#include "grade/page_parts.hpp"

#include "report/page.hpp"

#include <fmt/format.h>

namespace prenorm::harness {

std::string_view grade_style() {
  return R"(
h1, h2, h3 { line-height: 1.2; margin: 0 0 .4rem; } h2 { margin-top: 2.6rem; font-size: 1.4rem; }
h3 { margin-top: 1.4rem; font-size: 1.1rem; } h2 small, h1 small { font-weight: 400; }
p { margin: .4rem 0; max-width: 48rem; } a { color: inherit; }
:focus-visible { outline: 3px solid #3b82f6; outline-offset: 2px; border-radius: .2rem; }
.score { font-size: 3.2rem; line-height: 1.1; font-weight: 700; margin: .8rem 0 .4rem; }
.score small { font-size: 1.2rem; font-weight: 400; }
.bar { height: .7rem; background: var(--plate); border: 1px solid var(--line); border-radius: .4rem;
  overflow: hidden; max-width: 30rem; }
.bar i { display: block; height: 100%; background: var(--good); }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
figure { margin: .6rem 0; min-width: 0; max-width: 100%; }
figcaption { font-size: .9rem; max-width: 26rem; }
svg { max-width: 100%; height: auto; display: block; }
svg text { font: 12px system-ui, sans-serif; fill: currentColor; }
.axis { stroke: currentColor; fill: none; stroke-width: 1; } .grid { stroke: var(--line); }
@media print {
  h2, h3 { break-after: avoid; } tr, figure { break-inside: avoid; }
  svg, .bar, .bar i { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)";
}

std::string outside(std::string_view text, std::size_t limit) {
  return "<bdi>" + escaped(text, limit) + "</bdi>";
}

std::string svg_label(double x, double y, std::string_view text, std::string_view more) {
  return fmt::format("<text x=\"{:g}\" y=\"{:g}\" {}>{}</text>", x, y, more, text);
}

}  // namespace prenorm::harness
