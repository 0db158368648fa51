#include "planner/schedule/render/html_page.h"

#include <fmt/format.h>

#include "planner/schedule/render/heading.h"
#include "planner/schedule/render/views.h"

namespace transload::render {
namespace {

// Everything from the <svg> element on: an XML prologue must not stand inside a page.
std::string svg_element(const std::string& svg) {
  const std::size_t begin = svg.find("<svg");
  return begin == std::string::npos ? std::string() : svg.substr(begin);
}

std::string_view how_to_read(View view) {
  switch (view) {
    case View::kDomains:
      return "Each box is a group of GPUs joined by NVLink. Arrows are what crosses the network "
             "between "
             "two groups; the thicker, the more bytes. What moves inside a group is noted in its "
             "box.";
    case View::kRanks:
      return "Each box is one GPU, framed by NVLink domain. Arrows are all transfers from one GPU "
             "to "
             "another; the thicker, the more bytes. Local copies are noted in the box.";
    case View::kOperations:
      return "Each box is one operation. An arrow leads to an operation that waits for it; "
             "operations "
             "outside the selection are not drawn.";
  }
  return "";
}

std::string legend_item(const Key& key) {
  const std::string swatch =
      key.line ? fmt::format(
                     "<svg width=\"34\" height=\"12\" aria-hidden=\"true\"><path d=\"M1 6H26\" "
                     "stroke=\"{0}\" stroke-width=\"2.5\"{1}/><path d=\"M26 1.5L33 6L26 10.5Z\" "
                     "fill=\"{0}\"/></svg>",
                     key.ink.line, key.dashed ? " stroke-dasharray=\"5 3\"" : "")
               : fmt::format(
                     "<svg width=\"20\" height=\"14\" aria-hidden=\"true\"><rect x=\"1\" y=\"1\" "
                     "width=\"18\" height=\"12\" rx=\"3\" fill=\"{}\" stroke=\"{}\"/></svg>",
                     key.ink.fill, key.ink.line);
  return fmt::format("<li>{} {}</li>\n", swatch, xml_escaped(key.meaning));
}

constexpr std::string_view kStyle = R"(
body { font: 15px/1.5 Helvetica, Arial, sans-serif; color: #1F2933; margin: 2rem; }
h1 { font-size: 1.5rem; margin: 0; }
p { max-width: 48rem; color: #5B6670; margin: .3rem 0 1rem; }
dl { display: flex; flex-wrap: wrap; gap: .8rem 2rem; margin: 1rem 0; }
dt { color: #5B6670; font-size: .8rem; }
dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
ul { list-style: none; display: flex; flex-wrap: wrap; gap: .3rem 1.5rem; padding: 0; }
li svg { vertical-align: middle; }
figure { margin: 1rem 0; overflow: auto; border: 1px solid #D9DEE3; border-radius: 8px; padding: 1rem; }
figure > svg { max-width: 100%; height: auto; }
)";

}  // namespace

std::string html_page(const Plan& plan, const RenderOptions& options, const std::string& svg) {
  const std::string title = xml_escaped(title_of(plan));
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{0}</title>\n"
      "<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n<p>{2}</p>\n<dl>\n",
      title, kStyle, xml_escaped(caption_of(options)));
  for (const auto& [name, value] : figures_of(plan))
    page +=
        fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", xml_escaped(name), xml_escaped(value));
  page += fmt::format("</dl>\n<p>{}</p>\n<ul>\n", how_to_read(options.view));
  for (const Key& key : legend_of(options.view)) page += legend_item(key);
  page += fmt::format("</ul>\n<figure>\n{}</figure>\n</body>\n</html>\n", svg_element(svg));
  return page;
}

}  // namespace transload::render
