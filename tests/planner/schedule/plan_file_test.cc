#include "planner/schedule/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "common/error.h"
#include "planner/schedule/check/check_plan.h"
#include "tests/testing/hand_plans.h"

namespace transload::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Image = std::vector<std::byte>;

// The head of the format: magic 0, version 8, sections 12, digest 16 (high) and 24 (low), file
// bytes 32.
constexpr std::size_t kVersionAt = 8;
constexpr std::size_t kSectionsAt = 12;
constexpr std::size_t kDigestAt = 16;
constexpr std::size_t kDigestFrom = 32;
constexpr std::size_t kDirectoryAt = 40;
constexpr std::size_t kSectionBytes = 56;

class PlanFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "plan_file_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string write(const std::string& name, std::span<const std::byte> bytes) const {
    std::ofstream stream(path(name), std::ios::binary);
    stream.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    return path(name);
  }

  std::filesystem::path folder_;
};

Image image_of(const Plan& plan) { return {plan.image().begin(), plan.image().end()}; }

// Puts the digest right again, so that what lies behind it is what must be refused.
void reseal(Image& image) {
  const Digest digest = digest_of(std::span<const std::byte>(image).subspan(kDigestFrom));
  std::memcpy(image.data() + kDigestAt, &digest.high, 8);
  std::memcpy(image.data() + kDigestAt + 8, &digest.low, 8);
}

Plan open_image(const Image& image) {
  const auto storage = std::make_shared<const Image>(image);
  return plan_from_image(storage, *storage, "image");
}

std::string refusal(const std::function<void()>& open) {
  try {
    open();
  } catch (const InputError& error) {
    return error.what();
  }
  return "opened";
}

std::string refusal_of(const Image& image) {
  return refusal([&] { open_image(image); });
}

void expect_equal(const Plan& a, const Plan& b) {
  std::vector<Image> columns;
  Plan::visit_columns(a, [&](std::string_view, const auto& column) {
    const auto bytes = std::as_bytes(column);
    columns.emplace_back(bytes.begin(), bytes.end());
  });
  std::size_t next = 0;
  Plan::visit_columns(b, [&](std::string_view name, const auto& column) {
    const auto bytes = std::as_bytes(column);
    EXPECT_EQ(columns[next++], Image(bytes.begin(), bytes.end())) << name;
  });
}

TEST_F(PlanFile, WrittenAndOpenedIsTheSame) {
  for (const Plan& plan : {direct_plan(), staged_plan(), broadcast_plan(), HandPlan(1, 1).seal()}) {
    write_plan(plan, path("plan"));
    const Plan opened = open_plan(path("plan"));
    EXPECT_EQ(opened.digest(), plan.digest());
    expect_equal(plan, opened);
  }
}

TEST_F(PlanFile, TheHeaderSurvives) {
  PlanHeader header;
  header.strategy = "transload";
  header.strategy_notes = "at most 16 posted";
  header.job_name = "job \"quoted\" \n \xc3\xa9";
  header.job_text = "model: x\n";
  header.topology_name = "dgx-h100";
  header.planned_for = "nccl";
  header.discipline = Discipline::kGroups;
  header.window = 7;
  header.colours_per_group = 16;
  header.operations_per_group = 1024;
  header.one_sided = true;
  header.chunk_bytes = std::uint64_t{1} << 40;
  header.piece_bytes = 4096;
  header.demand_classes = 12;
  header.scale = 3;
  header.bound_s = 0.8426;
  header.bound_line_rate_s = 0.75;
  header.bound_name = "domain_in";
  header.assumptions = {"a = 1 (x)", "b = 2 (y)"};
  const Plan plan = edit(direct_plan(), {}, [&](PlanHeader& out) { out = header; });
  write_plan(plan, path("plan"));
  const PlanHeader found = open_plan(path("plan")).header();
  EXPECT_EQ(found.strategy, header.strategy);
  EXPECT_EQ(found.strategy_notes, header.strategy_notes);
  EXPECT_EQ(found.job_name, header.job_name);
  EXPECT_EQ(found.job_text, header.job_text);
  EXPECT_EQ(found.topology_name, header.topology_name);
  EXPECT_EQ(found.planned_for, header.planned_for);
  EXPECT_EQ(found.discipline, header.discipline);
  EXPECT_EQ(found.window, header.window);
  EXPECT_EQ(found.colours_per_group, header.colours_per_group);
  EXPECT_EQ(found.operations_per_group, header.operations_per_group);
  EXPECT_EQ(found.one_sided, header.one_sided);
  EXPECT_EQ(found.chunk_bytes, header.chunk_bytes);
  EXPECT_EQ(found.piece_bytes, header.piece_bytes);
  EXPECT_EQ(found.demand_classes, header.demand_classes);
  EXPECT_EQ(found.scale, header.scale);
  EXPECT_EQ(found.bound_s, header.bound_s);
  EXPECT_EQ(found.bound_line_rate_s, header.bound_line_rate_s);
  EXPECT_EQ(found.bound_name, header.bound_name);
  EXPECT_EQ(found.assumptions, header.assumptions);
}

TEST_F(PlanFile, SameTablesSameDigest) {
  EXPECT_EQ(staged_plan().digest(), staged_plan().digest());
  EXPECT_EQ(image_of(staged_plan()), image_of(staged_plan()));
  EXPECT_EQ(seal_plan(staged_plan().header(), thaw_plan(staged_plan())).digest(),
            staged_plan().digest());
  // One bit of one column, or one word of the header, is another plan.
  EXPECT_NE(edit(staged_plan(), [](PlanTables& t) { t.op_chunk[0] ^= 1; }).digest(),
            staged_plan().digest());
  EXPECT_NE(edit(staged_plan(), {}, [](PlanHeader& h) { h.window = 99; }).digest(),
            staged_plan().digest());
}

TEST_F(PlanFile, CutAtAnyLengthIsRefused) {
  const Image image = image_of(staged_plan());
  for (std::size_t length = 0; length < image.size(); length += length < 4200 ? 1 : 97) {
    const Image cut(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(length));
    const std::string text = refusal_of(cut);
    EXPECT_THAT(text, HasSubstr(length < 8 ? "not a plan file" : "was cut")) << length;
    EXPECT_THAT(text, HasSubstr("image")) << length;
  }
  // The same from disk.
  const Image half(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(image.size() / 2));
  const std::string file = write("half", half);
  EXPECT_THAT(refusal([&] { open_plan(file); }), AllOf(HasSubstr(file), HasSubstr("was cut")));
}

TEST_F(PlanFile, ExtendedIsRefused) {
  Image image = image_of(staged_plan());
  image.push_back(std::byte{0});
  EXPECT_THAT(refusal_of(image), HasSubstr("cut or extended"));
}

TEST_F(PlanFile, OneFlippedBitAnywhereIsRefused) {
  const Image image = image_of(staged_plan());
  std::mt19937_64 random(1);
  for (std::size_t at = 0; at < image.size(); at += 1 + random() % 13) {
    Image flipped = image;
    flipped[at] ^= static_cast<std::byte>(1u << random() % 8);
    const std::string text = refusal_of(flipped);
    const char* wanted = at < kVersionAt     ? "not a plan file"
                         : at < kSectionsAt  ? "plan format version"
                         : at < kDigestFrom  ? "altered"
                         : at < kDirectoryAt ? "cut or extended"
                                             : "altered";
    // The number of sections stands before what the digest covers.
    if (at >= kSectionsAt && at < kDigestAt)
      EXPECT_NE(text, "opened") << at;
    else
      EXPECT_THAT(text, HasSubstr(wanted)) << at;
  }
}

TEST_F(PlanFile, OtherVersionIsNamed) {
  Image image = image_of(direct_plan());
  image[kVersionAt] = std::byte{9};
  EXPECT_THAT(refusal_of(image), AllOf(HasSubstr("version 9"), HasSubstr("plan the job again")));
}

TEST_F(PlanFile, WhatIsNoPlanFileIsNamed) {
  EXPECT_THAT(refusal([&] { open_plan(path("none")); }),
              AllOf(HasSubstr(path("none")), HasSubstr("No such file")));
  EXPECT_THAT(refusal([&] { open_plan(folder_.string()); }), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal([&] { open_plan(write("empty", {})); }), HasSubstr("the file is empty"));
  const std::string job = "model: deepseek-v3\n";
  const std::string file = write("job.yaml", std::as_bytes(std::span(job)));
  EXPECT_THAT(refusal([&] { open_plan(file); }), HasSubstr("not a plan file"));
  EXPECT_FALSE(is_plan_file(file));
  EXPECT_FALSE(is_plan_file(path("none")));
  EXPECT_FALSE(is_plan_file(path("empty")));
  write_plan(direct_plan(), path("plan"));
  EXPECT_TRUE(is_plan_file(path("plan")));
}

TEST_F(PlanFile, WritingWhereThatIsNotPossibleIsNamed) {
  const std::string file = path("no/such/folder/plan");
  EXPECT_THAT(refusal([&] { write_plan(direct_plan(), file); }),
              AllOf(HasSubstr(file), HasSubstr("cannot write")));
  // A folder in the way of the rename; nothing is left beside it.
  ASSERT_EQ(mkdir(path("taken").c_str(), 0700), 0);
  EXPECT_THAT(refusal([&] { write_plan(direct_plan(), path("taken")); }),
              HasSubstr("cannot write"));
  EXPECT_FALSE(std::filesystem::exists(path("taken.part")));
}

TEST_F(PlanFile, SectionsThatLieAreRefused) {
  const Image image = image_of(staged_plan());
  const auto with = [&](std::size_t at, std::uint64_t value, std::size_t bytes) {
    Image forged = image;
    std::memcpy(forged.data() + at, &value, bytes);
    reseal(forged);
    return refusal_of(forged);
  };
  EXPECT_THAT(with(kSectionsAt, 0xffffffff, 4), HasSubstr("directory is longer"));
  EXPECT_THAT(with(kSectionsAt, 0, 4), HasSubstr("section header is missing"));
  EXPECT_THAT(with(kSectionsAt, 3, 4), HasSubstr("is missing"));
  // Element size, count and offset of the second section (names).
  const std::size_t names = kDirectoryAt + kSectionBytes;
  EXPECT_THAT(with(names, 0, 1), HasSubstr("section names is missing"));
  EXPECT_THAT(with(names + 32, 8, 8), HasSubstr("section names does not fit"));
  EXPECT_THAT(with(names + 40, std::uint64_t{1} << 62, 8), HasSubstr("section names does not fit"));
  EXPECT_THAT(with(names + 48, std::uint64_t{1} << 62, 8), HasSubstr("section names does not fit"));
  EXPECT_THAT(with(names + 48, 1, 8), HasSubstr("section names does not fit"));
}

TEST_F(PlanFile, HeadersThatLieAreRefused) {
  const Image image = image_of(direct_plan());
  std::uint64_t offset = 0;
  std::memcpy(&offset, image.data() + kDirectoryAt + 48, 8);
  Image garbled = image;
  garbled[offset] = std::byte{'!'};
  reseal(garbled);
  EXPECT_THAT(refusal_of(garbled), HasSubstr("plan header"));
  // A key that is not there.
  const std::string text(reinterpret_cast<const char*>(image.data() + offset), 400);
  Image renamed = image;
  renamed[offset + text.find("job_name")] = std::byte{'x'};
  reseal(renamed);
  EXPECT_THAT(refusal_of(renamed), AllOf(HasSubstr("plan header"), HasSubstr("job_name")));
}

// Damage with a digest that is right: opened or refused, but nothing else; and what opens can be
// checked.
TEST_F(PlanFile, ForgedBytesNeverCrash) {
  std::mt19937_64 random(42);
  int opened = 0;
  int refused = 0;
  for (const Plan& plan : {staged_plan(), grouped_plan(), fan_out_plan(), broadcast_plan()}) {
    const Image image = image_of(plan);
    for (int i = 0; i < 1500; ++i) {
      Image forged = image;
      const std::size_t at = kDirectoryAt + random() % (image.size() - kDirectoryAt);
      const std::uint64_t values[] = {0, 1, 0x7f, 0x80, 0xff, random() % 256};
      forged[at] = static_cast<std::byte>(values[random() % 6]);
      reseal(forged);
      try {
        check_plan(open_image(forged));
        ++opened;
      } catch (const InputError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(opened, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace transload::testing
