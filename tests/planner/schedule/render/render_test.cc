#include "planner/schedule/render/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "common/error.h"
#include "planner/schedule/render/dot_program.h"
#include "tests/planner/schedule/sample_plans.h"
#include "tests/testing/temp_path.h"

namespace transload {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

bool have_dot() {
  try {
    render::run_dot("digraph {}", {"-Tsvg"});
    return true;
  } catch (const InputError&) {
    return false;
  }
}

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string rendered(const Plan& plan, const RenderOptions& options, RenderFormat format) {
  const std::string path = testing::temp_path("render_test.out");
  render_file(plan, options, format, path);
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  std::string content = content_of(path);
  std::filesystem::remove(path);
  return content;
}

RenderOptions with_view(View view) {
  RenderOptions options;
  options.view = view;
  return options;
}

std::size_t times_in(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(RenderDomains, DrawsDomainsAndTheBytesBetweenThem) {
  const std::string dot = render_dot(testing::two_domains(), {});
  EXPECT_THAT(dot, HasSubstr("sample job"));
  EXPECT_THAT(
      dot, HasSubstr("3 ranks, 2 tensors: 1.024 kB over the network, 1.024 kB over NVLink, 64 B"));
  EXPECT_THAT(dot, HasSubstr("<b>NVLink domain 0</b> (node 0)"));
  EXPECT_THAT(dot, HasSubstr("ranks 2-3"));
  EXPECT_THAT(dot, HasSubstr("inside, over NVLink: 1.024 kB"));
  EXPECT_THAT(dot, HasSubstr("domain0->domain1"));
  EXPECT_THAT(dot, HasSubstr("domain 0 to domain 1 over network: 1.024 kB in 1 transfer\""));
  EXPECT_THAT(dot, Not(HasSubstr("domain1->domain1")));
}

TEST(RenderDomains, PutsSourcesLeftAndDestinationsRightInOrder) {
  const std::string dot = render_dot(testing::half_and_half(4, 2), {});
  EXPECT_THAT(dot, HasSubstr("{rank=source; domain0 -> domain1 [style=invis];}"));
  EXPECT_THAT(dot, HasSubstr("{rank=sink; domain2 -> domain3 [style=invis];}"));
}

TEST(RenderDomains, LightensLargePictures) {
  const std::string few = render_dot(testing::half_and_half(4, 1), {});
  const std::string many = render_dot(testing::half_and_half(64, 1), {});
  EXPECT_EQ(times_in(many, "tooltip="), 1024u);  // 32 x 32 arrows
  EXPECT_THAT(few, HasSubstr("label=<<table border=\"0\" cellborder=\"0\" cellspacing=\"0\" "
                             "cellpadding=\"3\"><tr><td>400 MB"));
  EXPECT_THAT(many, Not(HasSubstr("<tr><td>400 MB")));
  EXPECT_THAT(many, HasSubstr("splines=line"));
  EXPECT_THAT(many, HasSubstr("color=\"#D55E0028\""));
}

TEST(RenderRanks, DrawsRanksInClustersAndBothKindsOfLink) {
  const std::string dot = render_dot(testing::two_domains(), with_view(View::kRanks));
  EXPECT_THAT(dot, HasSubstr("subgraph cluster_domain0"));
  EXPECT_THAT(dot, HasSubstr("subgraph cluster_domain1"));
  EXPECT_THAT(dot, HasSubstr("rank0->rank2 [color=\"#D55E00\""));
  EXPECT_THAT(dot, HasSubstr("rank2->rank3 [color=\"#009E73\""));
  EXPECT_THAT(dot,
              HasSubstr("<b>rank 0</b><br/><font point-size=\"10\" color=\"#5B6670\">copies 64 B"));
  EXPECT_THAT(dot, Not(HasSubstr("rank1")));  // takes no part
}

TEST(RenderOperations, DrawsTheGraphOfTheSelection) {
  RenderOptions options = with_view(View::kOperations);
  options.tensor = "w";
  const std::string dot = render_dot(testing::two_domains(), options);
  EXPECT_THAT(dot, HasSubstr("<b>inject</b> #1<br/>rank 0 &#8594; 2, 1.024 kB"));
  EXPECT_THAT(dot, HasSubstr("operation0->operation1 [color=\"#6B6B6B\", style=solid]"));
  EXPECT_THAT(dot, HasSubstr("operation1->operation3 [color=\"#6B6B6B\", style=dashed]"));
  EXPECT_THAT(dot, Not(HasSubstr("operation5")));  // tensor b
  EXPECT_THAT(dot, Not(HasSubstr("operation6")));  // no tensor
}

TEST(Render, RefusesMoreThanCanBeRead) {
  RenderOptions options = with_view(View::kOperations);
  options.max_nodes = 8;
  const Plan plan = testing::two_domains();
  EXPECT_NO_THROW(render_dot(plan, options));
  options.max_nodes = 7;
  try {
    render_dot(plan, options);
    FAIL() << "8 operations are more than 7";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("8 operations"));
    EXPECT_THAT(error.what(), HasSubstr("--tensor"));
  }
  options.view = View::kRanks;
  options.max_nodes = 2;
  EXPECT_THROW(render_dot(plan, options), InputError);
  options.view = View::kDomains;
  options.max_nodes = 1;
  EXPECT_THROW(render_dot(plan, options), InputError);
}

TEST(Render, IsTheSameTextForTheSamePlan) {
  EXPECT_EQ(render_dot(testing::half_and_half(8, 4), {}),
            render_dot(testing::half_and_half(8, 4), {}));
}

TEST(RenderFile, WritesWhatTheFormatPromises) {
  const Plan plan = testing::two_domains();
  EXPECT_EQ(rendered(plan, {}, RenderFormat::kDot), render_dot(plan, {}));
  if (!have_dot()) GTEST_SKIP() << "Graphviz is not installed";
  for (const View view : {View::kDomains, View::kRanks, View::kOperations}) {
    const std::string svg = rendered(plan, with_view(view), RenderFormat::kSvg);
    EXPECT_THAT(svg, HasSubstr("<svg"));
    EXPECT_THAT(svg, HasSubstr("sample job"));
    EXPECT_THAT(rendered(plan, with_view(view), RenderFormat::kPng), StartsWith("\x89PNG"));
  }
  const std::string html = rendered(plan, {}, RenderFormat::kHtml);
  EXPECT_THAT(html, StartsWith("<!DOCTYPE html>"));
  EXPECT_EQ(times_in(html, "<!DOCTYPE"), 1u);
  EXPECT_THAT(html, HasSubstr("<dt>Network</dt><dd>1.024 kB</dd>"));
  EXPECT_THAT(html, HasSubstr("2 destination ranks"));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(html, Not(HasSubstr("href=\"http")));
}

TEST(RenderFile, SurvivesOddNames) {
  const std::string odd = "a\"b\\N<script>&lt;\n\x01\xFF";
  const Plan plan = testing::two_domains(odd, "job <b>&\"\\");
  RenderOptions options = with_view(View::kOperations);
  options.tensor = odd;
  const std::string dot = render_dot(plan, options);
  EXPECT_THAT(dot, HasSubstr("a&quot;b\\N&lt;script&gt;&amp;lt;"));
  if (!have_dot()) GTEST_SKIP() << "Graphviz is not installed";
  const std::string svg = rendered(plan, options, RenderFormat::kSvg);
  EXPECT_THAT(svg, HasSubstr("b\\N&lt;script&gt;&amp;lt;"));
  const std::string html = rendered(plan, options, RenderFormat::kHtml);
  EXPECT_THAT(html, HasSubstr("<title>job &lt;b&gt;&amp;&quot;\\"));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
}

TEST(RenderFile, RefusesAPathItCannotWrite) {
  EXPECT_THROW(render_file(testing::two_domains(), {}, RenderFormat::kDot, "/no/such/folder/p.dot"),
               InputError);
}

}  // namespace
}  // namespace transload
