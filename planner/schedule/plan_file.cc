#include "planner/schedule/plan_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "common/check.h"
#include "common/error.h"
#include "planner/schedule/plan_validate.h"

namespace transload {
namespace {

static_assert(std::endian::native == std::endian::little, "plan files are little-endian");

constexpr std::array<char, 8> kMagic = {'T', 'L', 'P', 'L', 'A', 'N', '\r', '\n'};
constexpr std::uint32_t kVersion = 4;
constexpr std::size_t kAlignment = 64;

struct FileHead {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t sections;
  std::uint64_t digest_high;
  std::uint64_t digest_low;
  std::uint64_t file_bytes;
};
static_assert(sizeof(FileHead) == 40);

// The digest covers everything from here on: the file size, the directory and all sections.
constexpr std::size_t kDigestFrom = offsetof(FileHead, file_bytes);

struct Section {
  std::array<char, 32> name;
  std::uint64_t element_bytes;
  std::uint64_t count;
  std::uint64_t offset;
};
static_assert(sizeof(Section) == 56);

std::size_t aligned(std::size_t offset) {
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

Section make_section(std::string_view name, std::size_t element_bytes, std::size_t count) {
  Section section{};
  TRANSLOAD_CHECK(name.size() < section.name.size(), "section names are short");
  std::copy(name.begin(), name.end(), section.name.begin());
  section.element_bytes = element_bytes;
  section.count = count;
  return section;
}

class MappedFile {
 public:
  MappedFile(int descriptor, std::size_t bytes) : bytes_(bytes) {
    data_ = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  }
  ~MappedFile() {
    if (valid()) munmap(data_, bytes_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  bool valid() const { return data_ != MAP_FAILED; }
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(data_), bytes_};
  }

 private:
  void* data_;
  std::size_t bytes_;
};

[[noreturn]] void refuse(const std::string& name, const std::string& problem) {
  throw InputError({name, 0, ""}, problem);
}

FileHead read_head(std::span<const std::byte> image, const std::string& name) {
  FileHead head{};
  if (image.size() < kMagic.size() || std::memcmp(image.data(), kMagic.data(), kMagic.size()) != 0)
    refuse(name, "not a plan file (its first bytes are not those of one)");
  if (image.size() < sizeof head) refuse(name, "the plan file was cut: its head is incomplete");
  std::memcpy(&head, image.data(), sizeof head);
  if (head.version != kVersion)
    refuse(name,
           fmt::format("plan format version {}, this program reads version {}; plan the job again",
                       head.version, kVersion));
  if (head.file_bytes != image.size())
    refuse(name, fmt::format("the plan file was cut or extended: it has {} bytes, expected {}",
                             image.size(), head.file_bytes));
  const Digest found = digest_of(image.subspan(kDigestFrom));
  const Digest wanted{head.digest_high, head.digest_low};
  if (found != wanted)
    refuse(name, fmt::format("the plan file was altered: its digest is {}, expected {}",
                             to_string(found), to_string(wanted)));
  return head;
}

class SectionReader {
 public:
  SectionReader(std::span<const std::byte> image, std::uint32_t count, std::string name)
      : image_(image), name_(std::move(name)) {
    if (count > (image.size() - sizeof(FileHead)) / sizeof(Section))
      refuse(name_, "the section directory is longer than the file");
    sections_.resize(count);
    if (count > 0)
      std::memcpy(sections_.data(), image.data() + sizeof(FileHead), count * sizeof(Section));
  }

  template <class T>
  std::span<const T> read(std::string_view column) const {
    static_assert(std::is_trivially_copyable_v<T>);
    for (const Section& section : sections_) {
      const std::string_view found(section.name.data(),
                                   strnlen(section.name.data(), section.name.size()));
      if (found != column) continue;
      if (section.element_bytes != sizeof(T) || section.offset % kAlignment != 0 ||
          section.offset > image_.size() ||
          section.count > (image_.size() - section.offset) / sizeof(T))
        refuse(name_, fmt::format("section {} does not fit the file", column));
      return {reinterpret_cast<const T*>(image_.data() + section.offset), section.count};
    }
    refuse(name_, fmt::format("section {} is missing", column));
  }

 private:
  std::span<const std::byte> image_;
  std::string name_;
  std::vector<Section> sections_;
};

constexpr std::string_view kHeaderSection = "header";

// Text comes from users; JSON holds UTF-8 only.
std::string header_text(const PlanHeader& header) {
  const nlohmann::json json = to_json(header);
  for (const auto& [field, value] : json.items()) {
    try {
      static_cast<void>(value.dump());
    } catch (const nlohmann::json::exception&) {
      throw InputError({"", 0, field}, "the text is not UTF-8: expected UTF-8 in a plan's header");
    }
  }
  return json.dump();
}

}  // namespace

Plan seal_plan(const PlanHeader& header, const PlanTables& tables) {
  const std::string json = header_text(header);
  std::vector<Section> sections;
  std::vector<const void*> data;
  const auto add = [&](std::string_view name, const auto& column) {
    using T = std::decay_t<decltype(*column.data())>;
    sections.push_back(make_section(name, sizeof(T), column.size()));
    data.push_back(column.data());
  };
  add(kHeaderSection, json);
  PlanTables::visit_columns(tables, add);

  std::size_t bytes = aligned(sizeof(FileHead) + sections.size() * sizeof(Section));
  for (Section& section : sections) {
    section.offset = bytes;
    bytes = aligned(bytes + section.element_bytes * section.count);
  }
  // Page-aligned and zeroed by the kernel, so gaps between sections are the same on every machine.
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw RunFailure(fmt::format("out of memory: a plan of {} bytes", bytes));
  std::shared_ptr<void> storage(memory, [bytes](void* pointer) { munmap(pointer, bytes); });
  auto* image = static_cast<std::byte*>(memory);
  FileHead head{kMagic, kVersion, static_cast<std::uint32_t>(sections.size()), 0, 0, bytes};
  std::memcpy(image + sizeof head, sections.data(), sections.size() * sizeof(Section));
  for (std::size_t i = 0; i < sections.size(); ++i)
    if (sections[i].count > 0)
      std::memcpy(image + sections[i].offset, data[i],
                  sections[i].element_bytes * sections[i].count);
  std::memcpy(image, &head, sizeof head);
  const Digest digest = digest_of({image + kDigestFrom, bytes - kDigestFrom});
  head.digest_high = digest.high;
  head.digest_low = digest.low;
  std::memcpy(image, &head, sizeof head);

  Plan plan;
  plan.image_ = {image, bytes};
  plan.storage_ = std::move(storage);
  plan.digest_ = digest;
  plan.header_ = std::make_shared<const PlanHeader>(header);
  const SectionReader reader(plan.image_, head.sections, "plan");
  Plan::visit_columns(plan, [&](std::string_view name, auto& column) {
    using T = std::remove_const_t<typename std::decay_t<decltype(column)>::element_type>;
    column = reader.read<T>(name);
  });
  return plan;
}

Plan plan_from_image(std::shared_ptr<const void> storage, std::span<const std::byte> image,
                     const std::string& name) {
  const FileHead head = read_head(image, name);
  const SectionReader reader(image, head.sections, name);
  Plan plan;
  plan.image_ = image;
  plan.storage_ = std::move(storage);
  plan.digest_ = {head.digest_high, head.digest_low};
  const std::span<const char> json = reader.read<char>(kHeaderSection);
  try {
    plan.header_ = std::make_shared<const PlanHeader>(
        plan_header_from_json(nlohmann::json::parse(json.begin(), json.end())));
  } catch (const nlohmann::json::exception& error) {
    refuse(name, std::string("plan header: ") + error.what());
  }
  Plan::visit_columns(plan, [&](std::string_view column_name, auto& column) {
    using T = std::remove_const_t<typename std::decay_t<decltype(column)>::element_type>;
    column = reader.read<T>(column_name);
  });
  validate_plan(plan, name);
  return plan;
}

Plan open_plan(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) refuse(path, fmt::format("cannot open the file: {}", std::strerror(errno)));
  struct stat status {};
  const bool usable = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  if (!usable || status.st_size == 0) {
    close(descriptor);
    refuse(path, usable ? "the file is empty" : "not a regular file");
  }
  auto file = std::make_shared<MappedFile>(descriptor, static_cast<std::size_t>(status.st_size));
  close(descriptor);
  if (!file->valid()) refuse(path, "cannot map the file");
  const std::span<const std::byte> image = file->bytes();
  return plan_from_image(std::move(file), image, path);
}

PlanTables thaw_plan(const Plan& plan) {
  PlanTables tables;
  std::vector<std::span<const std::byte>> columns;
  Plan::visit_columns(plan, [&](std::string_view, const auto& column) {
    columns.push_back(std::as_bytes(column));
  });
  std::size_t next = 0;
  PlanTables::visit_columns(tables, [&](std::string_view, auto& column) {
    using T = typename std::decay_t<decltype(column)>::value_type;
    const std::span<const std::byte> bytes = columns[next++];
    column.resize(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(column.data(), bytes.data(), bytes.size());
  });
  return tables;
}

void write_plan(const Plan& plan, const std::string& path) {
  const std::string temporary = path + ".part";
  {
    std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
    stream.write(reinterpret_cast<const char*>(plan.image().data()),
                 static_cast<std::streamsize>(plan.image().size()));
    stream.flush();
    if (!stream) {
      std::remove(temporary.c_str());
      refuse(path, "cannot write the plan file");
    }
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::remove(temporary.c_str());
    refuse(path, fmt::format("cannot write the plan file: {}", std::strerror(errno)));
  }
}

bool is_plan_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::array<char, kMagic.size()> start{};
  stream.read(start.data(), start.size());
  return stream.gcount() == static_cast<std::streamsize>(start.size()) && start == kMagic;
}

}  // namespace transload
